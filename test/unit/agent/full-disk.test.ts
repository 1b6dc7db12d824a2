import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePiWorld, type PiWorld, runPi } from '../../setup/pi.ts';
import { startRpcPi } from '../../setup/pi-rpc.ts';
import { smallDisk } from '../lib/temporary.ts';

let directory: string;
let world: PiWorld;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'full-disk-'));
  world = await makePiWorld(directory);
}, 300_000);

afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Fills a file system but for so many bytes, in whole pages. */
function fill(path: string, left: number): void {
  const { bavail, bsize } = statfsSync(path);
  writeFileSync(join(path, 'filler'), Buffer.alloc(Math.max(0, bavail * bsize - left)));
}

function expectWhole(content: string): void {
  expect(content.endsWith('}\n')).toBe(true);
  const [header] = content
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(header).toMatchObject({ type: 'session' });
}

const PAGE = 4_096;
/** Longer than a page: what is left of the disk takes a part of it. */
const PROMPT = `run echo ${'x'.repeat(3 * PAGE)}`;

describe('pi on a full disk', () => {
  it.each([0, PAGE, 2 * PAGE])('S11: with %i bytes left a new Session is whole or absent', async (left) => {
    const disk = smallDisk(64);
    if ('skip' in disk) return expect(disk.skip).toContain('root');
    fill(disk.path, left);
    const result = await runPi(world, ['--session-dir', disk.path, '-p', PROMPT]);
    expect(result.code).not.toBe(0);
    expect(result.stderr).toContain('ENOSPC');
    const [file, ...others] = readdirSync(disk.path).filter((name) => name !== 'filler');
    expect(others).toEqual([]);
    // Without the prompt there may have been room for pi's own words that it could not be written.
    if (file !== undefined) expectWhole(readFileSync(join(disk.path, file), 'utf8'));
    else expect(left).toBeLessThanOrEqual(PAGE);
  });

  it.each([0, PAGE])('S11: with %i bytes left an old Session keeps every entry whole', async (left) => {
    const disk = smallDisk(64);
    if ('skip' in disk) return expect(disk.skip).toContain('root');
    const file = join(disk.path, 'old.jsonl');
    expect(await runPi(world, ['--session', file, '-p', 'run echo first'])).toMatchObject({ code: 0 });
    const before = readFileSync(file, 'utf8');
    fill(disk.path, left);
    const result = await runPi(world, ['--session', file, '-p', PROMPT]);
    expect(result.code).not.toBe(0);
    const after = readFileSync(file, 'utf8');
    expect(after.startsWith(before)).toBe(true);
    expectWhole(after);
    execFileSync('rm', [join(disk.path, 'filler')]);
    expect(await runPi(world, ['--session', file, '-p', 'run echo again'])).toMatchObject({ code: 0 });
  });

  it('S11: a Session of an older version, opened by a running pi, is not lost when there is no room', async () => {
    const disk = smallDisk(64);
    if ('skip' in disk) return expect(disk.skip).toContain('root');
    const file = join(disk.path, 'old.jsonl');
    const timestamp = '2026-01-01T00:00:00.000Z';
    const message = { role: 'user', content: 'an old prompt '.repeat(1_000), timestamp: 1 };
    const lines = [
      { type: 'session', id: '0198c5a1-0000-7000-8000-000000000001', timestamp, cwd: world.project },
      { type: 'message', timestamp, message },
    ];
    const old = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    writeFileSync(file, old, { mode: 0o640 });
    fill(disk.path, PAGE);
    const pi = startRpcPi(world, []);
    const failed = await pi.request({ type: 'switch_session', sessionPath: file });
    expect(failed.success).toBe(false);
    expect(readFileSync(file, 'utf8')).toBe(old);
    expect(readdirSync(disk.path).sort()).toEqual(['filler', 'old.jsonl']);
    rmSync(join(disk.path, 'filler'));
    const done = await pi.request({ type: 'switch_session', sessionPath: file });
    expect(done.success).toBe(true);
    await pi.end();
    const now = readFileSync(file, 'utf8');
    expectWhole(now);
    expect(now).toContain('an old prompt');
    expect(now).toContain('"version":3');
    expect(readdirSync(disk.path)).toEqual(['old.jsonl']);
    expect(statSync(file).mode & 0o777).toBe(0o640);
  });
});
