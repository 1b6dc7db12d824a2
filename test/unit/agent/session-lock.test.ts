import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeGate } from '../../../src/agent/extensions/lock/guard.ts';
import type { Registry } from '../../../src/agent/extensions/lock/registry.ts';
import { readDeletions } from '../../../src/history/index.ts';
import { isSessionOpen, readLastEntryId, readSessionFileId } from '../../../src/pi/index.ts';
import { makePiWorld, type PiWorld, runPi, until } from '../../setup/pi.ts';
import { startRpcPi } from '../../setup/pi-rpc.ts';

let directory: string;
let world: PiWorld;
let count = 0;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'session-lock-'));
  world = await makePiWorld(directory);
}, 300_000);

afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** A Session file with one finished conversation. */
async function finishedSession(): Promise<string> {
  const file = join(directory, 'sessions', '--project--', `s${++count}.jsonl`);
  const result = await runPi(world, ['--session', file, '-p', 'run echo first']);
  expect(result).toMatchObject({ code: 0 });
  return file;
}

function entries(file: string): Record<string, unknown>[] {
  return readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

function open(file: string): boolean {
  return isSessionOpen(world.locks, { id: readSessionFileId(file) ?? '', file });
}

/** Every entry's parent is in the file: what a dropped or doubled write would break. */
function expectWhole(file: string): void {
  const [header, ...rest] = entries(file);
  expect(header).toMatchObject({ type: 'session' });
  const ids = new Set(rest.map((entry) => entry.id));
  expect(ids.size).toBe(rest.length);
  for (const { parentId } of rest) if (parentId !== null) expect(ids).toContain(parentId);
}

async function state(pi: ReturnType<typeof startRpcPi>): Promise<Record<string, unknown>> {
  const { data } = await pi.request({ type: 'get_state' });
  return { ...(data as Record<string, unknown>) };
}

describe('a Session is open in one pi only', () => {
  it.each([
    ['print', ['-p', 'hello']],
    ['json', ['--mode', 'json', 'hello']],
    ['rpc', ['--mode', 'rpc']],
  ])('H3: a second pi in %s mode appends nothing, names the holder and exits with 1', async (_mode, args) => {
    const file = await finishedSession();
    const first = startRpcPi(world, ['--session', file]);
    await state(first);
    const before = readFileSync(file, 'utf8');
    const second = await runPi(world, ['--session', file, '--thinking', 'off', ...args]);
    expect(second.code).toBe(1);
    expect(second.stderr).toContain(`process ${first.pid}`);
    expect(second.stderr).not.toContain('Error');
    expect(readFileSync(file, 'utf8')).toBe(before);
    await first.end();
  });

  it('H3: two pis at once on one new file: one has it, the other says so', async () => {
    const file = join(directory, 'sessions', '--project--', `s${++count}.jsonl`);
    const args = ['--session', file, '-p', 'run sleep 1.5'];
    const results = await Promise.all([runPi(world, args), runPi(world, args)]);
    expect(results.map(({ code }) => code).sort()).toEqual([0, 1]);
    expect(
      entries(file).filter(({ message }) => JSON.stringify(message)?.includes('"role":"user"')),
    ).toHaveLength(1);
    expectWhole(file);
  });

  it('H3: a copy of a Session, and a link to it, are the same Session', async () => {
    const file = await finishedSession();
    const first = startRpcPi(world, ['--session', file]);
    await state(first);
    const copy = join(directory, 'sessions', 'copy.jsonl');
    execFileSync('cp', [file, copy]);
    const link = join(directory, 'sessions', 'link');
    execFileSync('ln', ['-s', dirname(file), link]);
    expect((await runPi(world, ['--session', copy, '-p', 'hi'])).code).toBe(1);
    expect((await runPi(world, ['--session', join(link, basename(file)), '-p', 'hi'])).code).toBe(1);
    await first.end();
    expect((await runPi(world, ['--session', file, '-p', 'run true'])).code).toBe(0);
  });

  it('H3: killing pi frees the Session although a child of it lives on', async () => {
    const file = await finishedSession();
    const first = startRpcPi(world, ['--session', file]);
    const marker = join(directory, `child-${count}`);
    void first.request({ type: 'prompt', message: `run echo $$ > ${marker}; exec sleep 60` });
    await until('the child', () => existsSync(marker) && readFileSync(marker, 'utf8').includes('\n'));
    expect(open(file)).toBe(true);
    await first.kill('SIGKILL');
    const child = Number(readFileSync(marker, 'utf8'));
    expect(() => process.kill(child, 0)).not.toThrow();
    expect(open(file)).toBe(false);
    expect((await runPi(world, ['--session', file, '-p', 'run true'])).code).toBe(0);
    process.kill(child, 'SIGKILL');
  });

  it('H3: new, resume, fork and clone move the lock to the Session that is open', async () => {
    const file = await finishedSession();
    const other = await finishedSession();
    const pi = startRpcPi(world, ['--session', file]);
    expect((await pi.request({ type: 'new_session' })).success).toBe(true);
    expect(open(file)).toBe(false);
    await pi.prompt('run true');
    const { sessionFile } = await state(pi);
    expect(open(String(sessionFile))).toBe(true);

    await pi.request({ type: 'switch_session', sessionPath: other });
    expect([open(String(sessionFile)), open(other)]).toEqual([false, true]);

    await pi.request({ type: 'clone' });
    const clone = String((await state(pi)).sessionFile);
    expect(clone).not.toBe(other);
    expect([open(other), open(clone)]).toEqual([false, true]);
    await pi.prompt('run true');
    expectWhole(clone);
    await pi.end();
    expect(open(clone)).toBe(false);
  });

  it('H3: switching to a taken Session is refused and the own one stays open', async () => {
    const [file, other] = [await finishedSession(), await finishedSession()];
    const holder = startRpcPi(world, ['--session', other]);
    await state(holder);
    const pi = startRpcPi(world, ['--session', file]);
    const response = await pi.request({ type: 'switch_session', sessionPath: other });
    expect(response.data).toEqual({ cancelled: true });
    expect(pi.errors()).toContain(`process ${holder.pid}`);
    expect((await state(pi)).sessionFile).toBe(file);
    await Promise.all([pi.end(), holder.end()]);
  });

  it('H3: a name handed over by the launcher is given only to a Session that is ours', async () => {
    const file = await finishedSession();
    const named = { ...world, environment: { ...world.environment, PI_SANDBOX_SESSION_NAME: 'A name' } };
    const first = startRpcPi(world, ['--session', file]);
    await state(first);
    const before = readFileSync(file, 'utf8');
    expect((await runPi(named, ['--session', file, '-p', 'run true'])).code).toBe(1);
    expect(readFileSync(file, 'utf8')).toBe(before);
    await first.end();
    const second = await runPi(named, ['--session', file, '-p', 'run echo "[$PI_SANDBOX_SESSION_NAME]"']);
    expect(second.stdout).toContain('[]');
    expect(
      entries(file).filter(({ type, name }) => type === 'session_info' && name === 'A name'),
    ).toHaveLength(1);
    expectWhole(file);
  });

  it('H3: a Session that is kept in memory takes no lock', async () => {
    const before = readdirSync(world.locks).length;
    expect((await runPi(world, ['--no-session', '-p', 'run true'])).code).toBe(0);
    expect(readdirSync(world.locks)).toHaveLength(before);
  });

  it('H3: where no lock can be taken, pi says so once and works', async () => {
    const noDirectory = await finishedSession();
    const environment = { ...world.environment, PI_SANDBOX_LOCK_DIR: join(noDirectory, 'locks') };
    const file = join(directory, 'sessions', 'unlocked.jsonl');
    const result = await runPi({ ...world, environment }, ['--session', file, '-p', 'run echo fine']);
    expect(result.code).toBe(0);
    expect(result.stdout).toContain('fine');
    expect(result.stderr.match(/Session lock/g)).toHaveLength(1);
    expectWhole(file);
  });
});

describe('an expired Session comes back', () => {
  function expire(file: string): string {
    const trashed = join(directory, 'sessions/.trash/2026-11-30/--project--', `${basename(file)}.trashed`);
    mkdirSync(dirname(trashed), { recursive: true });
    renameSync(file, trashed);
    return trashed;
  }

  it('S11: before anything is appended, with everything it held', async () => {
    const file = await finishedSession();
    const pi = startRpcPi(world, ['--session', file]);
    await state(pi);
    const before = readFileSync(file, 'utf8');
    const trashed = expire(file);
    await pi.prompt('run echo again');
    expect(existsSync(trashed)).toBe(false);
    expect(readFileSync(file, 'utf8').startsWith(before)).toBe(true);
    expectWhole(file);
    expect(JSON.stringify(pi.lines)).toContain('it is back');
    // What `sessions log` said of it is true no more, and it says so; pi does not wait for that, not even at its end.
    const history = { sessions: join(directory, 'sessions'), locks: world.locks };
    const logged = async () => {
      const lines = [];
      for await (const line of readDeletions(history)) lines.push(line);
      return lines;
    };
    await expect.poll(async () => JSON.stringify(await logged()), { timeout: 10_000 }).toContain('"done"');
    await pi.end();
    expect(await logged()).toEqual([
      {
        kind: 'entry',
        entry: expect.objectContaining({
          action: 'restored',
          why: 'used',
          id: readSessionFileId(file),
          file: relative(join(directory, 'sessions'), trashed),
          to: relative(join(directory, 'sessions'), file),
          bytes: before.length,
          outcome: 'done',
        }),
      },
    ]);
  });

  it('S11: before the user switches to one that was taken while it was offered to him', async () => {
    const [file, other] = [await finishedSession(), await finishedSession()];
    const before = readFileSync(other, 'utf8');
    const pi = startRpcPi(world, ['--session', file]);
    await state(pi);
    const trashed = expire(other);
    expect(await pi.request({ type: 'switch_session', sessionPath: other })).toMatchObject({
      data: { cancelled: false },
    });
    expect(existsSync(trashed)).toBe(false);
    expect((await state(pi)).sessionId).toBe(readSessionFileId(other));
    await pi.prompt('run echo again');
    expect(readFileSync(other, 'utf8').startsWith(before)).toBe(true);
    expectWhole(other);
    await pi.end();
  });

  it('S11: also when it is moved in the very moment of an append', () => {
    const file = join(directory, 'sessions', '--race--', 'r.jsonl');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, 'header\nfirst\n');
    const registry: Registry = {
      sessions: new Set(),
      starting: false,
      gate: undefined,
      suspendDisabled: false,
    };
    const gate = makeGate(registry, {
      takeForOneWrite: () => ({ release: () => {} }),
      say: () => {},
      describeHolder: () => '',
      cameBack: () => {},
    });
    const append = (): void => {
      expire(file);
      appendFileSync(file, 'second\n');
    };
    gate({ id: 'r', file }, append, () => writeFileSync(file, 'header\nfirst\nsecond\n'));
    expect(readFileSync(file, 'utf8')).toBe('header\nfirst\nsecond\n');
  });

  it('S11: a folder that was emptied before pi wrote anything is made again', async () => {
    const file = join(directory, 'sessions', '--emptied--', 'new.jsonl');
    mkdirSync(dirname(file), { recursive: true });
    const pi = startRpcPi(world, ['--session', file]);
    await state(pi);
    rmdirSync(dirname(file));
    await pi.prompt('run echo first');
    expectWhole(file);
    await pi.end();
  });

  it('S11: another Session of the same name in the trash is left there', async () => {
    const [file, other] = [await finishedSession(), await finishedSession()];
    const pi = startRpcPi(world, ['--session', file]);
    await state(pi);
    const before = readFileSync(file, 'utf8');
    rmSync(file);
    renameSync(other, file);
    const foreign = expire(file);
    await pi.prompt('run echo again');
    expect(existsSync(foreign)).toBe(true);
    // Nothing to bring back: pi's memory holds the whole Session, and that is what is written.
    expect(readFileSync(file, 'utf8').startsWith(before)).toBe(true);
    expectWhole(file);
    await pi.end();
  });

  it('S11: without the guard pi would make a file that has no header', async () => {
    const file = await finishedSession();
    const pi = startRpcPi({ ...world, extensions: world.extensions.slice(2) }, ['--session', file]);
    await state(pi);
    expire(file);
    await pi.prompt('run echo again');
    expect(readSessionFileId(file)).toBeUndefined();
    expect(readLastEntryId(file)).toBeTypeOf('string');
    await pi.end();
  });
});
