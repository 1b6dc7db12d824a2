/** Names of runs and steps (R2, R4), and of the jobs that steps are. */
import { createHash, randomBytes } from 'node:crypto';
import { type JobName, parseJobName } from '../jobs/index.ts';
import type { RandomSource } from '../lib/ids.ts';
import { InvalidRunIdError } from './errors.ts';

/** `20261201t132559-k3m7qa`: when it was started, in UTC, and 30 random bits. */
export type RunId = string & { readonly kind: 'RunId' };
/** Checked by the graph's schema. */
export type StepId = string & { readonly kind: 'StepId' };

const RUN_ID = /^\d{8}t\d{6}-[a-z2-7]{6}$/;
/** What may be typed instead of a whole id. */
const PREFIX = /^(?:\d{1,8}|\d{8}t\d{0,6}|\d{8}t\d{6}-[a-z2-7]{0,6})$/;
const STEP_ID = /^[a-z0-9][a-z0-9-]{0,63}$/;
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
const RANDOM_CHARACTERS = 6;
/** So long a step's id may be to stand whole in its job's name, before `-` and the run's id. */
const WHOLE_STEP_CHARACTERS = 41;

export function isRunId(text: string): text is RunId {
  return RUN_ID.test(text);
}

/** @throws InvalidRunIdError for what is neither an id nor the beginning of one */
export function parseRunPrefix(text: string): string {
  if (PREFIX.test(text)) return text;
  throw new InvalidRunIdError(text);
}

/** Not yet claimed: whoever makes the directory of that name has it. */
export function proposeRunId(now: Date, random: RandomSource = randomBytes): RunId {
  const time = now.toISOString().replace(/[-:]/g, '').slice(0, 15).toLowerCase();
  const tail = [...random(RANDOM_CHARACTERS)].map((byte) => BASE32[byte % BASE32.length]).join('');
  const id = `${time}-${tail}`;
  if (isRunId(id)) return id;
  throw new InvalidRunIdError(id);
}

export function isStepId(text: string): text is StepId {
  return STEP_ID.test(text);
}

/**
 * The job of a step: one name for all its attempts, and no other step's, so that whoever takes a run up again finds it
 * without anything being written down after it was started.
 */
export function stepJobName(run: RunId, step: StepId): JobName {
  const head =
    step.length <= WHOLE_STEP_CHARACTERS
      ? step
      : `${step.slice(0, WHOLE_STEP_CHARACTERS - 9)}-${createHash('sha256').update(step).digest('hex').slice(0, 8)}`;
  return parseJobName(`${head}-${run}`);
}

/** The branch of a step's worktree (R5). */
export function stepBranch(run: RunId, step: StepId): string {
  return `pi/${run}/${step}`;
}
