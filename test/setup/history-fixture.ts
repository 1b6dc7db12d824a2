/** Sessions in a domain's history, written in a sandbox of it as its own user, with the ages that a test needs. */
import { folderOf } from './history-generator.ts';
import type { Installation, RunOptions } from './installation.ts';

const DAY_MS = 86_400_000;

export interface Planted {
  id: string;
  /** Days since its last change: of the file's time and of its last entry's. */
  days: number;
  cwd: string;
  /** Days of the file's time alone, for one that was copied or restored. */
  fileDays?: number;
  name?: string;
  text?: string;
}

/** Below the sessions directory. */
export function fileOf({ id, days, cwd }: Planted): string {
  const time = new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);
  return `${folderOf(cwd)}/${time}T00-00-00-000Z_${id}.jsonl`;
}

export function linesOf({ id, days, cwd, name, text = 'hello' }: Planted): string {
  const timestamp = new Date(Date.now() - days * DAY_MS).toISOString();
  const message = { role: 'user', content: [{ type: 'text', text }], timestamp: Date.parse(timestamp) };
  const entries = [
    { type: 'session', version: 3, id, timestamp, cwd },
    ...(name === undefined
      ? []
      : [{ type: 'session_info', id: 'aaaa0000', parentId: null, timestamp, name }]),
    { type: 'message', id: 'aaaa0001', parentId: name === undefined ? null : 'aaaa0000', timestamp, message },
  ];
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
}

/** Writes them through a shell of the project's domain. That is a start too, and prunes before it writes. */
export async function plant(
  here: Installation,
  project: string,
  sessions: readonly Planted[],
  options: RunOptions = {},
): Promise<string[]> {
  const script = sessions
    .map((session) => {
      const file = quoted(`./${fileOf(session)}`);
      const time = Math.floor((Date.now() - (session.fileDays ?? session.days) * DAY_MS) / 1000);
      return `mkdir -p "$(dirname ${file})"; printf '%s' ${quoted(linesOf(session))} >${file}; touch -d @${time} ${file}`;
    })
    .join('\n');
  await inHistory(here, project, script, options);
  return sessions.map(fileOf);
}

/** Runs a script in the sessions directory of the project's sandbox; its standard output. */
export async function inHistory(
  here: Installation,
  project: string,
  script: string,
  options: RunOptions = {},
): Promise<string> {
  const words = ['shell', project, '--', 'sh', '-c', `set -e; cd ~/.pi/agent/sessions/; ${script}`];
  const result = await here.run(words, options);
  if (result.exitCode !== 0) throw new Error(`${script}\n${result.stderr}`);
  return result.stdout;
}

/** Every Session in place, by its path, sorted. */
export async function inPlace(here: Installation, project: string): Promise<string[]> {
  return files(await inHistory(here, project, "find . -path ./.trash -prune -o -name '*.jsonl' -print"));
}

/** Every file of the trash. */
export async function inTrash(here: Installation, project: string): Promise<string[]> {
  return files(await inHistory(here, project, '[ ! -d .trash ] || find .trash -type f'));
}

function files(output: string): string[] {
  return output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(/^\.\//, ''))
    .sort();
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
