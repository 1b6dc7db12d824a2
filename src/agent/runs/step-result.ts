import { readBeginning } from '../../lib/bounded-read.ts';
import {
  diffArtifact,
  isFinalStep,
  isStepId,
  LIMITS,
  outputArtifact,
  RunError,
  type StepStatus,
  stepIn,
} from '../../runs/index.ts';
import { printable } from '../jobs/result.ts';
import { answering } from './answering.ts';
import { runContext } from './context.ts';
import { knownRunNamed } from './named.ts';

/** What a step has left: its result, or with `--diff` what it has changed in its worktree. */
export function stepResult(
  run: string,
  step: string,
  { diff = false, json = false }: { diff?: boolean; json?: boolean },
): Promise<number> {
  return answering({ json }, async () => {
    const { id, directory, state } = await knownRunNamed(await runContext(), run);
    const there = stepIn(state, step);
    if (there === undefined || !isStepId(step))
      throw new RunError('not-found', `run ${id} has no step ${JSON.stringify(step.slice(0, 100))}`, {
        hint: `multi-agent runs show ${id}`,
      });
    const path = diff ? diffArtifact(directory, step) : outputArtifact(directory, step);
    const found = await readBeginning(path, LIMITS.outputBytes);
    if (found === undefined) throw nothingThere(id, step, there.status, diff);
    const text = found.bytes.toString('utf8');
    const { status, reason, job } = there;
    const facts = { runId: id, step, status, reason, job, path, [diff ? 'diff' : 'output']: text };
    return { facts: { ...facts, cut: found.size > found.bytes.length }, text: printable(text) };
  });
}

function nothingThere(id: string, step: string, status: StepStatus, diff: boolean): RunError {
  const what = diff ? 'no diff' : 'no result';
  return new RunError('not-found', `step "${step}" of run ${id} is ${status} and has ${what}`, {
    hint: isFinalStep(status) ? `multi-agent runs status ${id} says why` : `multi-agent runs wait ${id}`,
    details: { step, status },
  });
}
