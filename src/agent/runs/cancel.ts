import { cancelRun, readKnownRun } from '../../runs/index.ts';
import { answering } from './answering.ts';
import { runContext } from './context.ts';
import { runNamed } from './named.ts';
import { ownerDeps } from './owner-deps.ts';
import { runFacts } from './run-json.ts';

interface CancelOptions {
  readonly step?: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

/** Ends a run, or one step of it; of one with an owner the end comes a little later (R6). */
export function cancel(run: string, { step, force = false, json = false }: CancelOptions): Promise<number> {
  return answering({ json }, async () => {
    const context = await runContext();
    const { place, caller } = context;
    const directory = await runNamed(context, run);
    await cancelRun(place, directory, { step, caller, force }, ownerDeps(context));
    const now = await readKnownRun(directory);
    const [what, status] =
      step === undefined ? [now.id, now.state.status] : [step, now.state.steps[step]?.status];
    const said = now.state.terminal || (step !== undefined && status === 'canceled') ? status : 'canceling';
    return { facts: { ...runFacts(now, caller), step: step ?? null }, text: `${what} ${said}\n` };
  });
}
