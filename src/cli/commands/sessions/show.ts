/** `pi-sandbox sessions show` (S13). */
import { OperationError } from '../../../lib/errors.ts';
import { jsonText } from '../../../lib/json-text.ts';
import { safeForTerminal } from '../../../lib/redact.ts';
import { bytes } from '../../../lib/table.ts';
import type { HistoryLine } from '../../../wire/index.ts';
import { ago, only } from './lines.ts';
import { untyped } from './list.ts';
import { locate } from './locate.ts';
import { askFor } from './restore.ts';
import { type SessionsOptions, withHistories } from './scene.ts';

/** Prints what a Session is, and the first and the last of what was said in it. */
export function sessionsShow(word: string, options: SessionsOptions & { json?: boolean }): Promise<number> {
  return withHistories(options, async (scene) => {
    const located = await locate(scene, word);
    const retention = located.history.retention ?? { days: 0, trashDays: 0 };
    const lines = await askFor(scene, located, { verb: 'show', selector: located.file, retention });
    const [shown] = only(lines, 'shown');
    if (shown === undefined) throw new OperationError('the Session was not shown');
    const { domain } = located.history;
    if (options.json === true) {
      process.stdout.write(`${jsonText({ version: 1, domain, session: untyped(shown) }, 2)}\n`);
    } else {
      process.stdout.write(`${facts(domain, shown)}${outline(shown)}`);
    }
    return 0;
  });
}

function facts(domain: string, shown: HistoryLine<'shown'>): string {
  const states = [
    ...(shown.open ? ['open'] : []),
    ...(shown.expired ? ['expired'] : []),
    ...(shown.original === undefined ? [] : ['in the trash']),
    ...(shown.damaged === undefined ? [] : [`damaged: ${shown.damaged}`]),
    ...(shown.damagedLines === 0 ? [] : [`${shown.damagedLines} damaged lines`]),
  ];
  const entries = Object.entries(shown.entries).map(([kind, count]) => `${count} ${kind}`);
  const rows: [string, string | undefined][] = [
    ['session', shown.id],
    ['name', shown.name],
    ['domain', domain],
    ['directory', shown.cwd],
    ['file', shown.file],
    ['created', shown.created],
    ['last change', `${shown.lastChange} (${ago(shown.lastChange)})`],
    ['size', bytes(shown.bytes)],
    ['state', states.join(', ') || undefined],
    ['forked from', shown.parentSession],
    ['entries', `${entries.join(', ')}${shown.truncated ? ' (not all were read)' : ''}`],
  ];
  return rows
    .flatMap(([name, value]) =>
      value === undefined ? [] : [`${name.padEnd(12)} ${safeForTerminal(value)}\n`],
    )
    .join('');
}

function outline({ outline: said, outlineOmitted }: HistoryLine<'shown'>): string {
  const half = Math.ceil(said.length / 2);
  return said
    .map(({ at, role, text }, index) => {
      const gap = index === half && outlineOmitted > 0 ? `\n… ${outlineOmitted} more …\n` : '';
      const words = safeForTerminal(text.trim(), { lines: true }).replace(/^/gm, '  ');
      return `${gap}\n${safeForTerminal(role)}  ${at ?? ''}\n${words}\n`;
    })
    .join('');
}
