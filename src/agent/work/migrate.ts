import {
  type MigrationReport,
  type MigrationStep,
  migrateAgentDirLayout,
  openAgentDir,
} from '../../agent-dir/index.ts';
import { OperationError, UsageError } from '../../lib/errors.ts';
import { jsonText } from '../../lib/json-text.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { migrationTarget } from './agent-places.ts';
import { agentDir } from './work-root.ts';

interface MigrateOptions {
  dryRun?: boolean;
  trustInState?: boolean;
  json?: boolean;
}

const NOTHING: MigrationReport = {
  outcome: 'nothing',
  busyWith: undefined,
  moved: 0,
  conflicts: 0,
  left: 0,
  steps: [],
};

/** Moves what older layouts left at the root (W10). Exit code 0 when all of it has moved, 1 when something stays. */
export async function migrate(options: MigrateOptions): Promise<number> {
  const { dryRun = false, trustInState = false, json = false } = options;
  const { path, own, inSandbox } = await migrationTarget(agentDir());
  if (trustInState && inSandbox) {
    // To its supervisor the file's going would be the user's word that all trust is taken back (S4).
    throw new UsageError('the pi of a sandbox reads trust.json where it is');
  }
  const top = openAgentDir(path);
  let report = NOTHING;
  try {
    if (top !== undefined) report = await migrateAgentDirLayout(top, { dryRun, trustInState, own });
  } finally {
    top?.close();
  }
  if (json) process.stdout.write(`${jsonText({ version: 1, agentDir: path, dryRun, ...report }, 2)}\n`);
  else if (report.outcome !== 'busy') process.stdout.write(wordsFor(report, path, dryRun));
  if (report.outcome === 'busy' && !json) {
    throw new OperationError(`nothing in ${path} was moved: ${report.busyWith} works there`, {
      hint: 'the next start that is alone there does it, or this command then',
    });
  }
  const whole = report.outcome === 'done' || report.outcome === 'nothing';
  return whole && report.left === 0 ? 0 : 1;
}

function wordsFor(report: MigrationReport, path: string, dryRun: boolean): string {
  const { moved, conflicts, left, steps, outcome } = report;
  if (moved + conflicts + left === 0) return `${safeForTerminal(path)}: nothing of an older layout\n`;
  const lines = steps.map((step) => line(step, dryRun));
  const more = moved + conflicts + left - steps.length;
  if (more > 0) lines.push(`… and ${more} more`);
  if (outcome === 'incomplete') lines.push('there is more than one run moves: call it again');
  return `${lines.map((text) => safeForTerminal(text)).join('\n')}\n`;
}

function line(step: MigrationStep, dryRun: boolean): string {
  switch (step.what) {
    case 'moved':
      return `${dryRun ? 'would move' : 'moved'} ${step.from} -> ${step.to}`;
    case 'conflict':
      return `${dryRun ? 'would keep' : 'kept'} both: ${step.from} -> ${step.to}`;
    case 'left':
      return `${dryRun ? 'would leave' : 'left'} ${step.from}: ${step.reason}`;
  }
}
