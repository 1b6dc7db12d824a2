import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseDecisions } from '../../../src/agent-dir/index.ts';
import { carryOver } from '../../../src/container/keeper/decisions.ts';
import { tryLock } from '../../../src/lib/kernel-lock.ts';
import { temporary, until } from './sandbox.ts';

const here = (name: string): string => new URL(name, import.meta.url).pathname;

interface Container {
  own: string;
  shared: string;
  process: ChildProcess;
  lines: string[];
  stop(): Promise<void>;
}

async function container(shared: string): Promise<Container> {
  const own = `${temporary()}/trust.json`;
  const child = spawn(process.execPath, [here('trust-process.ts'), own, shared], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const exit = once(child, 'exit');
  await until(() => lines.includes('ready'), 'the trust keeper');
  return {
    own,
    shared,
    process: child,
    lines,
    stop: async () => {
      child.stdin.write('stop\n');
      expect(await exit).toEqual([0, null]);
    },
  };
}

function sharedFile(): string {
  const directory = `${temporary()}/.pi/agent`;
  mkdirSync(directory, { recursive: true });
  return `${directory}/trust.json`;
}

async function decide(file: string, prefix: string, count: number): Promise<void> {
  const child = spawn(process.execPath, [here('pi-trust.ts'), file, prefix, String(count)], {
    stdio: 'inherit',
  });
  expect(await once(child, 'exit')).toEqual([0, null]);
}

function read(path: string): Record<string, unknown> {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
}

function expected(...prefixes: string[]): Record<string, boolean> {
  return Object.fromEntries(
    prefixes.flatMap((prefix) => Array.from({ length: 50 }, (_, n) => [`${prefix}/${n}`, n % 2 === 0])),
  );
}

describe('trust decisions of two sandboxes', () => {
  it('S4: 50 decisions at the same time in each: none is lost, and pi never fails', async () => {
    const shared = sharedFile();
    const [a, b] = [await container(shared), await container(shared)];
    await Promise.all([decide(a.own, '/a', 50), decide(b.own, '/b', 50)]);
    await Promise.all([a.stop(), b.stop()]);
    expect(read(shared)).toEqual(expected('/a', '/b'));
    expect(statSync(shared).mode & 0o777).toBe(0o600);
    expect(existsSync(`${a.own}.lock`)).toBe(false);
  });

  it('S4: a decision reaches the other sandbox, and one that starts later', async () => {
    const shared = sharedFile();
    const [a, b] = [await container(shared), await container(shared)];
    await decide(a.own, '/a', 50);
    await until(() => Object.keys(read(b.own)).length === 50, 'the other sandbox');
    const c = await container(shared);
    expect(read(c.own)).toEqual(expected('/a'));
  });

  it('S4: the removal of trust.json in one sandbox removes the decisions everywhere', async () => {
    const shared = sharedFile();
    writeFileSync(shared, '{"/p":true,"/q":false}\n');
    const [a, b] = [await container(shared), await container(shared)];
    expect(read(b.own)).toEqual({ '/p': true, '/q': false });
    rmSync(a.own);
    await until(() => !existsSync(b.own), 'the other sandbox');
    expect(read(shared)).toEqual({});
  });

  it('S4: a corrupt shared file is left as it is and told once; the private decisions stay', async () => {
    const shared = sharedFile();
    writeFileSync(shared, '{"/p": tru');
    const a = await container(shared);
    await decide(a.own, '/a', 5);
    await until(() => a.lines.some((line) => line.startsWith('problem')), 'the report');
    await sleep(200);
    expect(readFileSync(shared, 'utf8')).toBe('{"/p": tru');
    expect(Object.keys(read(a.own))).toHaveLength(5);
    expect(a.lines.filter((line) => line.startsWith('problem'))).toHaveLength(1);
    // Once it can be read again, what was decided meanwhile is carried over.
    writeFileSync(shared, '{"/p":true}');
    await until(() => Object.keys(read(shared)).length === 6, 'the decisions');
  });

  it('S4: a half-written private file is no decision', async () => {
    const shared = sharedFile();
    writeFileSync(shared, '{"/p":true}');
    const a = await container(shared);
    writeFileSync(a.own, '');
    await sleep(200);
    expect(read(shared)).toEqual({ '/p': true });
    writeFileSync(a.own, '{"/p":false}');
    await until(() => read(shared)['/p'] === false, 'the decision');
  });

  it('S4: a shared lock that stays held delays, and loses nothing', async () => {
    const shared = sharedFile();
    const lock = tryLock(shared.replace('trust.json', '.trust.lock'));
    const a = await container(shared);
    await decide(a.own, '/a', 1);
    await sleep(300);
    expect(existsSync(shared)).toBe(false);
    lock?.release();
    await until(() => existsSync(shared), 'the decision');
  });

  it('S4: a lock directory that a dead pi left is removed once it is old', async () => {
    const shared = sharedFile();
    const a = await container(shared);
    mkdirSync(`${a.own}.lock`);
    const old = new Date(Date.now() - 60_000);
    utimesSync(`${a.own}.lock`, old, old);
    writeFileSync(a.own, '{"/p":true}');
    await until(() => read(shared)['/p'] === true, 'the decision');
    // A round of its own may hold it once more for a moment.
    await until(() => !existsSync(`${a.own}.lock`), 'the lock directory to go');
  });

  it('S4: killed at any moment, the files are whole and hold what was carried over', async () => {
    const shared = sharedFile();
    for (let round = 0; round < 8; round++) {
      const a = await container(shared);
      const before = Object.keys(read(shared)).length;
      const pi = spawn(process.execPath, [here('pi-trust.ts'), a.own, `/r${round}`, '1000']);
      await until(() => existsSync(a.own), 'the first decision');
      await sleep(Math.random() * 250);
      a.process.kill('SIGKILL');
      pi.kill('SIGKILL');
      await once(a.process, 'exit');
      expect(Object.keys(read(shared)).length).toBeGreaterThanOrEqual(before);
    }
  });
});

describe('carrying decisions over', () => {
  const of = (value: Record<string, boolean | null>) => new Map(Object.entries(value));

  it('S4: only what changed here is changed there', () => {
    const next = carryOver(
      of({ kept: true, removed: true, changed: true }),
      of({ kept: true, changed: false, added: null }),
      of({ kept: false, removed: true, changed: true, theirs: true }),
    );
    expect(Object.fromEntries(next)).toEqual({ kept: false, changed: false, theirs: true, added: null });
  });

  it('S4: what pi would not read is no set of decisions', () => {
    for (const text of ['', '[]', 'null', '{"a":1}', '{"a":true'])
      expect(parseDecisions(text)).toBeUndefined();
    expect(parseDecisions('{"__proto__":true}')?.get('__proto__')).toBe(true);
  });
});
