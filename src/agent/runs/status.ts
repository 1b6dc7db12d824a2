import { safeForTerminal } from '../../lib/redact.ts';
import { table } from '../../lib/table.ts';
import { answering } from './answering.ts';
import { runContext } from './context.ts';
import { knownRunNamed } from './named.ts';
import { runDetails } from './run-json.ts';
import { usedBySteps } from './used.ts';

/** All about one run, step by step. */
export function status(run: string, options: { json?: boolean }): Promise<number> {
  return answering(options, async () => {
    const context = await runContext();
    const known = await knownRunNamed(context, run);
    const details = runDetails(known, context.caller, await usedBySteps(known));
    return { facts: details, text: textOf(details) };
  });
}

function textOf({ steps, ...run }: ReturnType<typeof runDetails>): string {
  const lines: [string, string | null][] = [
    ['run', run.runId],
    ['status', run.status],
    ['reason', run.reason],
    ['owner', run.ownerClass],
    ['objective', run.objective],
    ['schedule', run.schedule],
    ['created', run.createdAt],
    ['updated', run.updatedAt],
    ['directory', run.runDir],
  ];
  const facts = lines.flatMap(([name, value]) =>
    value === null ? [] : [`${name}: ${safeForTerminal(value)}\n`],
  );
  const rows = steps.map(({ id, status: state = '-', queued = false, attempts = 0, reason }) =>
    [id, queued ? 'queued' : state, String(attempts), reason ?? ''].map((cell) => safeForTerminal(cell)),
  );
  return `${facts.join('')}\n${table(['step', 'status', 'attempts', 'reason'], rows)}`;
}
