/** What must hold of a history after a fault and the next run: see docs/faults.md. No code of the room is used. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { digest, look, placeOf, type Seen } from './census.ts';
import { isExpired, type KnownSession, nameOf, type Scene } from './scene.ts';

export const HISTORY_KINDS = ['twice', 'changed', 'outside', 'left over', 'unlogged', 'misplaced'] as const;
export type Findings = Record<(typeof HISTORY_KINDS)[number] | 'lost', string[]>;

/** Node sets a file's time as a number of seconds, which is exact to a quarter of a microsecond. */
const TIME_TOLERANCE_NS = 1_000n;
/** State that the room keeps for good, below the sessions directory (src/history/README.md). */
const STATE =
  /^(?:\.history(?:\.aside)?\/(?:lock|deletions\.log(?:\.\d)?|first-deletion-shown\.json)|\.pi-sandbox-legacy\.json)$/;
const LOG = /^\.history(?:\.aside)?\/deletions\.log(?:\.\d)?$/;

export function check(scene: Scene): Findings {
  const findings: Findings = {
    lost: [],
    twice: [],
    changed: [],
    outside: [],
    'left over': [],
    unlogged: [],
    misplaced: [],
  };
  const seen = look(scene.sessions);
  const places = new Map<string, Seen[]>();
  for (const one of seen) {
    const place = one.kind === 'file' ? placeOf(one.path) : undefined;
    if (place !== undefined && scene.known.has(place.name))
      places.set(place.name, [...(places.get(place.name) ?? []), one]);
    else if (one.kind !== 'directory' && !isStrange(scene, one) && !STATE.test(one.path))
      findings['left over'].push(one.path);
  }
  const log = readLog(scene, seen);
  for (const [name, session] of scene.known)
    checkSession(scene, session, places.get(name) ?? [], log, findings);
  for (const one of scene.strange) {
    if (!seen.some((other) => other.path === one.path && other.content === one.content))
      findings.lost.push(`not a Session: ${one.path}`);
  }
  findings.outside.push(...differences(scene.canary, look(scene.outside)));
  return findings;
}

function checkSession(
  scene: Scene,
  session: KnownSession,
  found: readonly Seen[],
  log: ReadonlySet<string>,
  findings: Findings,
): void {
  const { promises } = scene;
  const name = nameOf(session.path);
  const [one, ...more] = found;
  if (one === undefined) {
    if (!promises.mayBeGone.has(name)) findings.lost.push(`${session.path} (${session.kind})`);
    else if (promises.logged && !log.has(`deleted ${name}`)) findings.unlogged.push(session.path);
    return;
  }
  if (more.length > 0) findings.twice.push(found.map(({ path }) => path).join(' and '));
  const appended = promises.appended.get(name);
  if (appended === undefined) {
    if (one.content !== session.content)
      findings.changed.push(`${one.path}: ${one.size} of ${session.size} bytes`);
    const off = one.modified - session.modified;
    if (promises.times && (off > TIME_TOLERANCE_NS || off < -TIME_TOLERANCE_NS))
      findings.changed.push(`${one.path}: its time by ${off} ns`);
  } else findings.lost.push(...missingWords(scene, session, one, appended));
  const trashed = placeOf(one.path)?.place === 'trashed';
  if (trashed && promises.logged && !log.has(`trashed ${name}`)) findings.unlogged.push(one.path);
  if (!trashed && one.path !== session.path) findings.misplaced.push(`${one.path}: was ${session.path}`);
  if (promises.settled === undefined || appended !== undefined) return;
  const expired = isExpired(session, promises.settled.now, promises.settled.days);
  if (expired !== undefined && expired !== trashed)
    findings.misplaced.push(`${one.path}: ${expired ? 'expired' : 'not expired'}`);
}

/** The old content is there, and behind it every entry that its writer was told of, each once and in order. */
function missingWords(scene: Scene, session: KnownSession, one: Seen, words: readonly string[]): string[] {
  const file = join(scene.sessions, one.path);
  if (digest(file, session.size) !== session.content) return [`${one.path}: its old content`];
  const tail = readFileSync(file).subarray(session.size).toString();
  const ids = [...tail.matchAll(/"id":"(appended-[^"]+)"/g)].map((match) => match[1] ?? '');
  // A word that was written and not yet told of may follow.
  if (words.every((word, index) => ids[index] === word) && ids.length <= words.length + 1) return [];
  return [`${one.path}: of ${words.length} appended entries ${ids.length} are there`];
}

/** What the log says was done with which file name; a line that lacks what, when, why or how large says nothing. */
function readLog(scene: Scene, seen: readonly Seen[]): Set<string> {
  const said = new Set<string>();
  for (const { path } of seen.filter((one) => one.kind === 'file' && LOG.test(one.path))) {
    for (const line of readFileSync(join(scene.sessions, path), 'utf8').split('\n')) {
      const { kind, action, file, at, why, bytes } = parsed(line);
      const whole = kind === 'intent' && typeof file === 'string' && !Number.isNaN(Date.parse(String(at)));
      const name = nameOf(String(file)).replace(/(?:[.-]\d+)?\.trashed$/, '');
      if (
        whole &&
        typeof why === 'string' &&
        (scene.known.get(name)?.size === bytes || scene.promises.appended.has(name))
      )
        said.add(`${action} ${name}`);
    }
  }
  return said;
}

function parsed(line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function isStrange(scene: Scene, one: Seen): boolean {
  return scene.strange.some(({ path }) => path === one.path);
}

function differences(before: readonly Seen[], after: readonly Seen[]): string[] {
  const text = (seen: Seen): string =>
    `${seen.path} ${seen.kind} ${seen.content} ${seen.kind === 'directory' ? '' : seen.modified}`;
  const [was, is] = [new Set(before.map(text)), new Set(after.map(text))];
  return [
    ...[...was].filter((line) => !is.has(line)).map((line) => `gone: ${line}`),
    ...[...is].filter((line) => !was.has(line)).map((line) => `new: ${line}`),
  ];
}
