import { mkdir, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { writeFileAtomic } from '../../lib/atomic-file.ts';
import { ConfigError, hasCode, OperationError, UsageError } from '../../lib/errors.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { KeptChanges } from '../../wire/index.ts';
import { type Config, DomainId, parseObject, readOwnFile } from '../config/index.ts';
import { openContext } from '../context.ts';
import type { GlobalOptions } from '../global-options.ts';
import { askSupervisor } from '../sandbox/ask-supervisor.ts';
import { findSandbox } from '../sandbox/resolve-running.ts';
import { choose } from '../ui/prompt.ts';
import { info, warn } from '../ui/report.ts';

export interface ConfigKeepOptions extends GlobalOptions {
  domain?: string;
  to?: string;
}

const LEVELS = ['global', 'domain', 'none'] as const;
type Level = (typeof LEVELS)[number];
/** What can be kept at all: names from a sandbox become file names here (rule 8). */
const FILES = [
  'settings.json',
  'mcp.json',
  'models.json',
  'keybindings.json',
  'SYSTEM.md',
  'APPEND_SYSTEM.md',
];
const ANSWER_MS = 10_000;
/** In characters: what nobody can read through is not taken over. */
const MAX_SHOWN = 10_000;
const MAX_FILE_BYTES = 1024 * 1024;

/**
 * Takes what sessions changed in the merged configuration of a running sandbox over into the user's own, for each change at
 * the level that the user chooses (S8). A sandbox says what the values are, so each is shown before it is taken.
 */
export async function configKeep(project: string | undefined, options: ConfigKeepOptions): Promise<number> {
  const to = LEVELS.find((level) => level === options.to);
  if (options.to !== undefined && to === undefined)
    throw new UsageError(`--to ${options.to}: allowed are ${LEVELS.join(', ')}`);
  const { config, engine } = await openContext(options);
  const sandbox = await findSandbox(engine, config.INSTALLATION_PREFIX, project, options.domain);
  const answer = await askSupervisor(engine, sandbox.id, { verb: 'changes' }, ANSWER_MS).catch(
    () => undefined,
  );
  answer?.connection.destroy();
  engine.close();
  const changes = KeptChanges.safeParse(answer?.value);
  if (!changes.success)
    throw new OperationError(`the sandbox of ${sandbox.project} does not say what was changed`);
  const domain = DomainId.parse(sandbox.domain);
  const known = changes.data.filter(({ file }) => FILES.includes(file));
  if (known.length === 0) info('nothing was changed in this sandbox that could be kept');
  for (const change of known) {
    if (shown(change).length > MAX_SHOWN) {
      warn(
        `${place(change)} has ${shown(change).length} characters, too many to look at, and is left: copy it by hand`,
      );
      continue;
    }
    const level = await choose(`${describe(change)}. Keep it?`, LEVELS, '--to global|domain|none', to);
    if (level !== 'none') await keep(config, domain, change, level);
  }
  return 0;
}

type Change = KeptChanges[number];

const place = ({ file, path }: Change): string => safeForTerminal([file, ...path].join(' '));
/** Whole: a cut value could hide what counts. */
const shown = ({ value }: Change): string =>
  safeForTerminal(value === undefined ? 'removed' : JSON.stringify(value));
const describe = (change: Change): string => `${place(change)} = ${shown(change)}`;

async function keep(
  config: Config,
  domain: DomainId,
  change: Change,
  level: Exclude<Level, 'none'>,
): Promise<void> {
  const directory = join(config.directory, 'config', ...(level === 'global' ? [] : ['domains', domain]));
  const path = join(directory, change.file);
  const before = (await readOwnFile(path, MAX_FILE_BYTES))?.content.toString('utf8');
  const after = change.file.endsWith('.json') ? changed(before, change, path) : String(change.value ?? '');
  if (after === before) return;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  // A link of the user's, such as one into a repository of dotfiles, stays one.
  await writeFileAtomic(await realpath(path).catch(missing(path)), after, { mode: 0o644 });
  process.stdout.write(`${safeForTerminal(directory)}: ${describe(change)}\n`);
}

function missing(path: string): (error: unknown) => string {
  return (error) => {
    if (hasCode(error, 'ENOENT')) return path;
    throw error;
  };
}

/** The file with one entry exchanged; everything else in it as it is. */
function changed(before: string | undefined, { path, value }: Change, file: string): string {
  let object: Record<string, unknown>;
  try {
    object = { ...parseObject(before ?? '{}', file) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(error.where, 'is no plain JSON, so nothing is written into it', {
      hint: `comments would be lost: add ${JSON.stringify(path.join('.'))} there yourself`,
    });
  }
  const [key = '', name] = path;
  if (name === undefined) set(object, key, value);
  else {
    const inside = object[key];
    const group = typeof inside === 'object' && inside !== null ? { ...inside } : {};
    set(group, name, value);
    object[key] = group;
  }
  return `${JSON.stringify(object, null, 2)}\n`;
}

function set(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') return;
  if (value !== undefined) object[key] = value;
  else if (Object.hasOwn(object, key)) delete object[key];
  else warn(`${key} comes from another level and cannot be removed in this one`);
}
