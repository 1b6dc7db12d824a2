/** What may be set of a run (settings.ts), in the words of a command line. */
import { type Command, InvalidArgumentError } from 'commander';
import { LIMITS } from '../../runs/index.ts';
import { amountOf, durationOf, tokensOf } from '../jobs/values.ts';
import { countUpTo, maxStepsOf, retryOf } from './values.ts';

export function addRunSettings(command: Command): Command {
  return command
    .option('--max-steps <n>', `allow more steps than ${LIMITS.steps}`, maxStepsOf)
    .option(
      '--concurrency <n>',
      `steps at once (default: ${LIMITS.concurrency})`,
      countUpTo(LIMITS.mostConcurrency),
    )
    .option(
      '--timeout <duration>',
      'how long the run may take (default: 24h)',
      secondsUpTo(LIMITS.runSeconds),
    )
    .option(
      '--retention <duration>',
      'how long it is kept when it has ended (default: 24h)',
      secondsUpTo(LIMITS.mostRetentionSeconds),
    )
    .option('--retry <when>', 'died: run a step again whose job has died (default); none', retryOf)
    .option('--max-cost <dollars>', 'what all steps and their children may cost together', amountOf)
    .option('--max-tokens <n>', 'what they may use, such as 200k', tokensOf);
}

function secondsUpTo(most: number): (text: string) => number {
  return (text) => {
    const seconds = Math.ceil(durationOf(text) / 1_000);
    if (seconds >= 1 && seconds <= most) return seconds;
    throw new InvalidArgumentError(`a duration from 1s to ${most.toLocaleString('en')}s is expected`);
  };
}
