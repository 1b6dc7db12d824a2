import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';

let here: Installation;
let project: string;
let outside: string;

beforeAll(async () => {
  here = await installation();
  project = here.project();
  outside = join(here.directory, 'outside');
  mkdirSync(outside);
  chmodSync(outside, 0o755);
  await here.run(['shell', project, '--', 'true']);
});

afterAll(async () => {
  await here.cleanup();
  expect(await here.leftovers()).toEqual([]);
});

const inside = async (script: string): Promise<string> =>
  (await here.run(['exec', project, '--', 'bash', '-c', script])).stdout;
const cp = (...words: string[]) => here.run(['cp', ...words], { cwd: project });
const ok = { exitCode: 0, stdout: '', stderr: '' };
const hash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

describe('S15: cp', () => {
  it('S15: carries 20 MB each way byte for byte, with mode and time', async () => {
    const bytes = randomBytes(20_000_000);
    writeFileSync(join(outside, 'big'), bytes, { mode: 0o740 });
    expect(await cp(join(outside, 'big'), '.:/tmp/big')).toMatchObject(ok);
    expect(await inside('sha256sum </tmp/big; stat -c %a /tmp/big')).toBe(`${hash(bytes)}  -\n740\n`);
    expect(await cp('.:/tmp/big', join(outside, 'back'))).toMatchObject(ok);
    expect(hash(readFileSync(join(outside, 'back')))).toBe(hash(bytes));
    const [sent, back] = [lstatSync(join(outside, 'big')), lstatSync(join(outside, 'back'))];
    expect([back.mode, Math.floor(back.mtimeMs / 1_000)]).toEqual([
      sent.mode,
      Math.floor(sent.mtimeMs / 1_000),
    ]);
  });

  it('S15: where a copy goes is what docker cp says', async () => {
    await inside('mkdir -p /tmp/d/e; echo 1 >/tmp/d/e/f; echo 2 >/tmp/g');
    mkdirSync(join(outside, 'there'));
    // A directory goes into one that is there, and becomes one that is not; its contents go with /. at its end.
    expect(await cp('.:/tmp/d', join(outside, 'there'))).toMatchObject(ok);
    expect(await cp('.:/tmp/d', join(outside, 'new'))).toMatchObject(ok);
    expect(await cp('.:/tmp/d/.', join(outside, 'there'))).toMatchObject(ok);
    expect(await cp('.:/tmp/g', join(outside, 'there'))).toMatchObject(ok);
    expect(readdirSync(join(outside, 'there')).sort()).toEqual(['d', 'e', 'g']);
    expect(readdirSync(join(outside, 'new'))).toEqual(['e']);
    // And the other way.
    expect(await cp(join(outside, 'new'), '.:/tmp/d')).toMatchObject(ok);
    expect(await cp(join(outside, 'new'), '.:/tmp/made')).toMatchObject(ok);
    expect(await cp(`${join(outside, 'new')}/.`, '.:/tmp/made/e')).toMatchObject(ok);
    expect(await cp(join(outside, 'there/g'), '.:~/renamed')).toMatchObject(ok);
    expect(await inside('cd /tmp; find d made ~/renamed -type f -printf "%P\\n" | sort | tr "\\n" " "')).toBe(
      ' e/e/f e/f e/f new/e/f ',
    );
  });

  it('S15: streams are tars', async () => {
    const tar = await here.run(['cp', '.:/tmp/d', '-'], { cwd: project });
    expect(tar.exitCode).toBe(0);
    const sent = await here.run(['cp', '-', '.:/tmp/made'], { cwd: project, input: tar.stdout });
    expect(sent).toMatchObject(ok);
    expect(await inside('ls /tmp/made')).toContain('d\n');
  });

  it('rule 8: links in what a sandbox holds are copied and not followed, unless the user asks for the one he names', async () => {
    await inside(`ln -sfn ${outside} /tmp/link; mkdir -p /tmp/t; ln -sf /etc/passwd /tmp/t/p`);
    expect(await cp('.:/tmp/t', join(outside, 't'))).toMatchObject(ok);
    expect(lstatSync(join(outside, 't/p')).isSymbolicLink()).toBe(true);
    expect(await cp('-L', '.:/tmp/t/p', join(outside, 'passwd'))).toMatchObject(ok);
    expect(readFileSync(join(outside, 'passwd'), 'utf8')).toContain('pi:x:0:0');
    // Into the project: a link that the session has put where the copy goes leads nowhere.
    await inside(`mkdir -p ${project}/in; ln -sfn ${outside} ${project}/in/t`);
    const result = await cp('.:/tmp/t', join(project, 'in'));
    expect(result.exitCode).not.toBe(0);
    expect(readdirSync(join(outside, 't'))).toEqual(['p']);
  });

  it('rule 8: out of a project that a session changes, no link is followed', async () => {
    symlinkSync('/etc', join(project, 'etc'));
    expect(await cp(join(project, 'etc'), '.:/tmp/etc-link')).toMatchObject(ok);
    expect(await inside('readlink /tmp/etc-link')).toBe('/etc\n');
  });

  it('rule 8: a link that a session puts into the project leads neither out of nor into the sandbox', async () => {
    await inside(`ln -sfn ${outside} ${project}/results; mkdir -p /tmp/d/e; echo evil >/tmp/key`);
    writeFileSync(join(outside, 'secret'), 'mine');
    const before = readdirSync(outside).sort();
    for (const words of [
      ['.:/tmp/key', join(project, 'results')],
      ['.:/tmp/key', join(project, 'results/key')],
      ['.:/tmp/d', join(project, 'results')],
      ['.:/tmp/d/.', join(project, 'results')],
      ['.:/tmp/d', join(project, 'results/new')],
      [join(project, 'results/secret'), '.:/tmp/leak'],
      [`${project}/results/.`, '.:/tmp/leak'],
    ]) {
      const result = await cp(...words);
      expect(result.stderr, words.join(' ')).toMatch(/results.* leads out of it, to .*outside/);
      expect(result).toMatchObject({ exitCode: 2, stdout: '' });
    }
    expect(readdirSync(outside).sort()).toEqual(before);
    expect(await inside('ls -d /tmp/leak 2>&1; true')).toContain('No such file');
  });

  it('S15: Ctrl-C leaves no half a file', async () => {
    const into = join(outside, 'interrupted');
    mkdirSync(into);
    await inside('truncate -s 2G /tmp/huge');
    const running = here.start(['cp', '.:/tmp/huge', into], { cwd: project });
    await vi.waitFor(() => expect(readdirSync(into)).toHaveLength(1), { timeout: 20_000, interval: 5 });
    const ended = once(running, 'exit');
    running.kill('SIGINT');
    expect(await ended).toEqual([130, null]);
    expect(readdirSync(into)).toEqual([]);
  });

  it('S15: what cannot be is one clear line, and nothing is made', async () => {
    const cases: [string[], number, RegExp][] = [
      [['.:/nope', outside], 2, /there is no \/nope in the sandbox/],
      [[join(outside, 'nope'), '.:/tmp'], 2, /nope does not exist/],
      [['.:/tmp/d', join(outside, 'big')], 2, /big is no directory, and \/tmp\/d in the sandbox is one/],
      [['.:/tmp/g', `${join(outside, 'none')}/`], 2, /there is no directory/],
      [['.:/tmp/g', join(outside, 'none/x')], 2, /there is no directory .*none/],
      [[join(outside, 'big'), '.:/tmp/none/'], 1, /there is no directory \/tmp\/none\//],
      [[join(outside, 'big'), '.:/etc/x'], 1, /cannot copy to \/etc\/x in the sandbox/],
      [['a', 'b'], 2, /one of the two must be in a sandbox/],
      [['.:/a', '.:/b'], 2, /one of the two must be in a sandbox/],
      [['.:/tmp'], 2, /what to copy and where to/],
      [['nobody:/tmp', outside], 2, /no sandbox of nobody/],
    ];
    const before = readdirSync(outside).sort();
    for (const [words, exitCode, message] of cases) {
      const result = await cp(...words);
      expect(result.stderr).toMatch(message);
      expect(result).toMatchObject({ exitCode, stdout: '' });
    }
    expect(readdirSync(outside).sort()).toEqual(before);
    expect(await inside('ls -A /tmp | grep pi-sandbox-cp; true')).toBe('');
  });
});
