import { EXIT } from '../../lib/errors.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { type SweepReport, sweepLine, sweepRuns } from '../../runs/index.ts';
import { answering } from './answering.ts';
import { runContext } from './context.ts';

/** Removes runs whose time is over and says why the others stay (R9); exit code 1 when one should have gone and stays. */
export function sweep({
  dryRun = false,
  json = false,
}: {
  dryRun?: boolean;
  json?: boolean;
}): Promise<number> {
  return answering({ json }, async () => {
    const { place, deps } = await runContext();
    const report = await sweepRuns(place, deps, { dryRun });
    const { items, omitted } = report.failed;
    const exitCode = items.length + omitted > 0 ? EXIT.failed : 0;
    return { facts: { dryRun, ...report }, text: textOf(report, dryRun), exitCode };
  });
}

function textOf(report: SweepReport, dryRun: boolean): string {
  const lines = [
    `${dryRun ? 'would be: ' : ''}${sweepLine(report)}`,
    ...report.withWorktrees.items.map((run) => `${run} is kept by its worktrees`),
    ...report.failed.items.map(({ run, reason }) => `${run} stays: ${reason}`),
  ];
  return lines.map((line) => `${safeForTerminal(line)}\n`).join('');
}
