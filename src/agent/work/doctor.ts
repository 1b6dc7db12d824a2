import { jsonText } from '../../lib/json-text.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { table } from '../../lib/table.ts';
import { lookAt, type RootView } from '../../work/index.ts';
import { auditPlaces, auditRows } from './audit.ts';
import { agentDir, workRoot } from './work-root.ts';

interface Finding {
  readonly path: string;
  readonly what: string;
}

/** Says what is not as it should be, and changes nothing: exit code 0 when all is well, 1 when there is something. */
export async function doctor({ json = false }: { json?: boolean }): Promise<number> {
  const root = workRoot();
  const view = await lookAt(root);
  const { problems, cut } = view;
  const findings = findingsOf(view);
  const places = auditPlaces(agentDir());
  const strangers = places.flatMap(auditRows);
  const all = findings.length + strangers.length;
  if (json) {
    const facts = { version: 1, root, findings, omitted: problems.omitted, cut, agentDirectories: places };
    process.stdout.write(`${jsonText(facts, 2)}\n`);
    return all > 0 ? 1 : 0;
  }
  if (findings.length === 0) process.stdout.write(`${safeForTerminal(root)}: all is well\n`);
  else {
    const rows = findings.map(({ path, what }) => [safeForTerminal(path), safeForTerminal(what)]);
    process.stdout.write(table(['in the work root', 'what it is'], rows));
    if (problems.omitted > 0) process.stdout.write(`… and ${problems.omitted} more\n`);
  }
  if (strangers.length === 0) {
    for (const { path } of places) process.stdout.write(`${safeForTerminal(path)}: all is well\n`);
  } else {
    const rows = strangers.map(([where, what]) => [where, safeForTerminal(what)]);
    process.stdout.write(table(['agent directory', 'what does not belong there'], rows));
  }
  return all > 0 ? 1 : 0;
}

function findingsOf({ problems, leftovers, cut }: RootView): Finding[] {
  const found = problems.items.map(({ path, kind, reason }) => ({ path, what: `${WORDS[kind]}: ${reason}` }));
  if (leftovers > 0) {
    const what = `${leftovers} directories that ended processes left; pi-work prune sees to them, or says why not`;
    found.push({ path: '.', what });
  }
  if (cut) found.push({ path: '.', what: 'there is more than was looked at' });
  return found;
}

const WORDS: Record<RootView['problems']['items'][number]['kind'], string> = {
  unowned: 'no work run, so it is left alone',
  foreign: 'no work run',
  lease: 'counts as in use',
  unfinished: 'could not be removed whole',
  failed: 'could not be looked at',
};
