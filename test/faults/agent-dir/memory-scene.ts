/**
 * Profiles under faults. It shares no code with what edits them: its own reading of the files, and facts that are words of
 * their own, so that each can be counted.
 */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../random.ts';
import type { AgentDirWorld, Findings } from './world.ts';

/** The smallest that there is, so that little text outgrows it. */
export const BUDGET = 512;
const SHARDS = 'okf-memory/user-preferences';

export interface MemoryScene {
  /** Agent directories of links to one domain. */
  readonly agentDirs: readonly [string, string];
  readonly domain: string;
  /** What the profile holds at the beginning. */
  readonly facts: readonly string[];
}

export function makeMemoryScene(world: AgentDirWorld, random: Random): MemoryScene {
  const root = mkdtempSync(join(world.directory, 'memory-'));
  world.atEnd(() => rmSync(root, { recursive: true, force: true }));
  const domain = join(root, 'domain');
  for (const name of ['state', 'okf-memory']) mkdirSync(join(domain, name), { recursive: true });
  const sandbox = (name: string): string => {
    const agentDir = join(root, name);
    mkdirSync(agentDir);
    for (const link of ['state', 'okf-memory', 'USER.md'])
      symlinkSync(join(domain, link), join(agentDir, link));
    return agentDir;
  };
  const facts = Array.from({ length: random.pick([1, 5, 60, 200]) }, (_, n) =>
    fact(`f${n}`, random.below(150)),
  );
  writeFileSync(join(domain, 'USER.md'), facts.map((text) => `- ${text}\n`).join(''));
  return { agentDirs: [sandbox('one'), sandbox('other')], domain, facts };
}

export function fact(name: string, length: number): string {
  return `${name}: ${'word '.repeat(1 + length / 5)}of ${name}`;
}

/** Every file of the profile, by its name; what is passing is left out. */
export function filesOf(domain: string): Record<string, string> {
  const files: Record<string, string> = { 'USER.md': readFileSync(join(domain, 'USER.md'), 'utf8') };
  let names: string[];
  try {
    names = readdirSync(join(domain, SHARDS));
  } catch {
    return files;
  }
  for (const name of names.sort()) {
    // What a killed writer leaves holds nothing, and may be removed at any time.
    if (!name.startsWith('.pi-sandbox-tmp-')) files[name] = readFileSync(join(domain, SHARDS, name), 'utf8');
  }
  return files;
}

/** That each of the facts is there once, that the index names the shards that there are, and that nothing else is left. */
export function judgeMemory(
  domain: string,
  expected: readonly string[],
  maybe: readonly string[] = [],
): Findings {
  const findings: Findings = { lost: [], twice: [], 'moved wrongly': [], 'left over': [] };
  const files = filesOf(domain);
  const text = Object.entries(files)
    .filter(([name]) => name !== 'index.okf.md')
    .map(([, content]) => content)
    .join('\n');
  for (const wanted of [...expected, ...maybe]) {
    const count = text.split(`- ${wanted}\n`).length - 1;
    if (count === 0 && !maybe.includes(wanted)) findings.lost.push(wanted);
    if (count > 1) findings.twice.push(`${wanted}: ${count}`);
  }
  const known = new Set([...expected, ...maybe]);
  for (const [, line = ''] of text.matchAll(/^- (.*)$/gm)) {
    if (!known.has(line)) findings['left over'].push(line);
  }
  const shards = Object.keys(files).filter((name) => name.startsWith('user-preferences-'));
  const named = [...(files['index.okf.md'] ?? '').matchAll(/^- \[(.*?)\]/gm)].map(([, name]) => name);
  if (named.sort().join() !== shards.sort().join())
    findings['moved wrongly'].push(`the index names ${named.join()}`);
  if (shards.length > 0 && !(files['USER.md'] ?? '').includes('index.okf.md'))
    findings['moved wrongly'].push('USER.md does not point to the index');
  findings['left over'].push(
    ...readdirSync(join(domain, 'state')).filter(
      (name) => name !== 'user-preferences.lock' && !name.startsWith('.pi-sandbox-tmp-'),
    ),
  );
  return findings;
}
