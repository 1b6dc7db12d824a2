import { spawn } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { pack } from 'tar-stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type ArrivalReport,
  openArrival,
  receiveSessions,
  sessionsOfDomain,
  surveySessions,
} from '../../../src/history/index.ts';

const TABLE = {
  rules: [
    { path: '/w', domain: 'work' },
    { path: '/w/own', domain: 'private' },
  ],
  fallback: null,
};
const ROOM = new URL('../../../src/history/index.ts', import.meta.url).href;

let here: string;
let source: string;
let target: string;

beforeEach(() => {
  here = mkdtempSync(join(tmpdir(), 'transfer-'));
  [source, target] = [join(here, 'source'), join(here, 'target')];
  for (const directory of [source, target]) mkdirSync(directory);
});
afterEach(() => rmSync(here, { recursive: true, force: true }));

function session(path: string, cwd: string, more = ''): string {
  const header = JSON.stringify({
    type: 'session',
    version: 3,
    id: 'a1',
    timestamp: '2026-11-30T00:00:00.000Z',
    cwd,
  });
  const text = `${header}\n${more}`;
  mkdirSync(dirname(join(source, path)), { recursive: true });
  writeFileSync(join(source, path), text);
  return text;
}

async function receive(tar: Readable, word = 'imported'): Promise<ArrivalReport> {
  const destination = openArrival(target);
  try {
    return await receiveSessions(tar, destination, { word });
  } finally {
    destination.close();
  }
}

const take = async (domain: string, sources = [{ directory: source }]): Promise<ArrivalReport> =>
  receive(await sessionsOfDomain(sources, TABLE, domain));

/** Everything below a directory by path; links by what they say. */
function tree(directory: string, below = ''): Record<string, string> {
  return Object.fromEntries(
    readdirSync(join(directory, below), { withFileTypes: true }).flatMap((entry) => {
      const path = below === '' ? entry.name : `${below}/${entry.name}`;
      if (entry.isDirectory()) return Object.entries(tree(directory, path));
      return [[path, entry.isSymbolicLink() ? 'link' : readFileSync(join(directory, path), 'utf8')]];
    }),
  );
}

describe('S15: Sessions of a plain pi', () => {
  it('S15: each goes to the domain of its recorded directory, with its bytes, folder and time', async () => {
    const first = session('--w-x--/one.jsonl', '/w/x', 'é\u2028 \0 bytes');
    const flat = session('flat.jsonl', '/w');
    session('--w-own--/two.jsonl', '/w/own/y');
    session('--other--/three.jsonl', '/other');
    writeFileSync(join(source, '--other--/no-header.jsonl'), 'nothing');
    utimesSync(join(source, '--w-x--/one.jsonl'), 1_700_000_000.123456, 1_700_000_000.123456);
    const survey = surveySessions([{ directory: source }], { table: TABLE });
    expect([...survey.domains].map(([domain, { count }]) => [domain, count]).sort()).toEqual([
      ['private', 1],
      ['work', 2],
    ]);
    expect([...survey.unowned.keys()]).toEqual(['/other']);
    expect(survey.damaged).toBe(1);

    expect(await take('work')).toMatchObject({ added: { count: 2 }, there: 0 });
    expect(tree(target)).toEqual({ '--w-x--/one.jsonl': first, 'flat.jsonl': flat });
    const { mtimeMs, mode } = statSync(join(target, '--w-x--/one.jsonl'));
    expect(mtimeMs).toBeCloseTo(1_700_000_000_123.456, 2);
    expect(mode & 0o777).toBe(0o600);
    expect(statSync(join(target, '--w-x--')).mode & 0o777).toBe(0o700);
  });

  it('S15: a second time nothing is copied, and one that went on there is left alone', async () => {
    const text = session('--w-x--/one.jsonl', '/w/x', 'first');
    session('--w-x--/two.jsonl', '/w/x');
    await take('work');
    writeFileSync(join(target, '--w-x--/one.jsonl'), `${text}, and more`);
    expect(await take('work')).toMatchObject({ added: { count: 0 }, there: 2 });
    expect(readFileSync(join(target, '--w-x--/one.jsonl'), 'utf8')).toBe(`${text}, and more`);
  });

  it('S15: another file of the name is never written over', async () => {
    const long = `${'x'.repeat(249)}.jsonl`;
    const [mine, mineLong] = [
      session('--w-x--/one.jsonl', '/w/x', 'mine'),
      session(`--w-x--/${long}`, '/w/x'),
    ];
    mkdirSync(join(target, '--w-x--'));
    writeFileSync(join(target, '--w-x--/one.jsonl'), 'theirs');
    writeFileSync(join(target, `--w-x--/${long}`), 'theirs');
    const report = await take('work');
    expect(report.renamed.items.map(({ name }) => name)).toContain('one-imported.jsonl');
    expect(tree(target)).toEqual({
      '--w-x--/one.jsonl': 'theirs',
      [`--w-x--/${long}`]: 'theirs',
      '--w-x--/one-imported.jsonl': mine,
      [`--w-x--/${'x'.repeat(230)}-imported.jsonl`]: mineLong,
    });
    expect(await take('work')).toMatchObject({ added: { count: 0 }, there: 2 });
  });

  it('S15: from a flat sessionDir a Session goes where a sandbox looks for it', async () => {
    const text = session('one.jsonl', '/w/a b');
    const flat = [{ directory: source, flat: true }];
    expect(await receive(await sessionsOfDomain(flat, TABLE, 'work'))).toMatchObject({ added: { count: 1 } });
    expect(tree(target)).toEqual({ '--w-a b--/one.jsonl': text });
  });
});

describe('S15: hostile on either side (rule 8)', () => {
  it('S15: no link in the source is followed, and it is named', async () => {
    const secret = join(here, 'secret');
    mkdirSync(secret);
    writeFileSync(join(secret, 'key.jsonl'), session('x/one.jsonl', '/w', 'secret'));
    symlinkSync(secret, join(source, 'linked'));
    symlinkSync(join(secret, 'key.jsonl'), join(source, 'x/linked.jsonl'));
    const { problems } = surveySessions([{ directory: source }], { table: TABLE });
    expect(problems.map(({ file }) => file).sort()).toEqual(['linked', 'x/linked.jsonl']);
    await take('work');
    expect(Object.keys(tree(target))).toEqual(['x/one.jsonl']);
  });

  it('S15: no link where they go is followed', async () => {
    session('x/one.jsonl', '/w');
    session('y/two.jsonl', '/w');
    const elsewhere = join(here, 'elsewhere');
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, 'file'), 'mine');
    symlinkSync(elsewhere, join(target, 'x'));
    mkdirSync(join(target, 'y'));
    symlinkSync(join(elsewhere, 'file'), join(target, 'y/two.jsonl'));
    const report = await take('work');
    expect(report.failed.items.map(({ file }) => file)).toEqual(['x/one.jsonl']);
    expect(tree(elsewhere)).toEqual({ file: 'mine' });
    expect(Object.keys(tree(target)).sort()).toEqual(['x', 'y/two-imported.jsonl', 'y/two.jsonl']);
  });

  it('S15: names with line breaks and of 255 bytes come over, those that lead out do not', async () => {
    const names = [
      'x/a\nb\u001b[31m.jsonl',
      `${'ü'.repeat(124)}.jsonl`,
      `${'f'.repeat(255)}/${'n'.repeat(249)}.jsonl`,
    ];
    for (const name of names) session(name, '/w');
    expect(await take('work')).toMatchObject({ added: { count: 3 } });
    expect(Object.keys(tree(target)).sort()).toEqual([...names].sort());
    expect(lstatSync(join(target, 'x')).isDirectory()).toBe(true);
  });

  it('S15: whatever a tar says, nothing is written but Sessions below the directory', async () => {
    const part = fc.constantFrom(
      '..',
      '.',
      '',
      'a',
      '.trash',
      '.pi-sandbox-x',
      'one.jsonl',
      '\0',
      'x'.repeat(300),
    );
    const entry = fc.record({
      name: fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('/')),
      type: fc.constantFrom('file', 'directory', 'symlink', 'link', 'fifo', 'character-device'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 6 }), async (entries) => {
        const tar = pack();
        for (const { name, type } of entries)
          tar.entry(
            {
              name: name || 'x',
              type: type as 'file',
              linkname: '/etc/passwd',
              size: type === 'file' ? 3 : 0,
            },
            type === 'file' ? 'abc' : '',
          );
        tar.finalize();
        await receive(Readable.from(tar)).catch(() => undefined);
        expect(readdirSync(here).sort()).toEqual(['source', 'target']);
        for (const path of Object.keys(tree(target)))
          expect(path).toMatch(/^(a\/)?one(-imported(-\d+)?)?\.jsonl$/);
      }),
      { seed: 15, numRuns: 60 },
    );
  });

  it('S15: one that gets shorter while it is read fails the call, and the next one finishes', async () => {
    session('x/one.jsonl', '/w', 'y'.repeat(4_000_000));
    session('y/two.jsonl', '/w');
    const tar = await sessionsOfDomain([{ directory: source }], TABLE, 'work');
    const swapped = async function* (): AsyncGenerator<Buffer> {
      let first = true;
      for await (const piece of tar) {
        yield piece;
        if (first) truncateSync(join(source, 'x/one.jsonl'), 200);
        first = false;
      }
    };
    await expect(receive(Readable.from(swapped()))).rejects.toThrow(/shorter/);
    expect(existsSync(join(target, 'x/one.jsonl'))).toBe(false);
    await take('work');
    expect(tree(target)).toEqual(tree(source));
  });
});

describe('S15: killed and run again', () => {
  /** Receives what comes on standard input in a process that is killed at its `step`th step. */
  async function killedAt(step: number, tar: Readable): Promise<boolean> {
    const code = `
      const room = await import(${JSON.stringify(ROOM)});
      let steps = 0;
      const between = () => { if (++steps === ${step}) process.kill(process.pid, 'SIGKILL'); };
      const destination = room.openArrival(${JSON.stringify(target)});
      await room.receiveSessions(process.stdin, destination, { word: 'imported', between });
      destination.close();`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    child.stdin.on('error', () => undefined);
    tar.pipe(child.stdin);
    const signal = await new Promise((resolve) => child.once('close', (_code, by) => resolve(by)));
    tar.destroy();
    return signal === 'SIGKILL';
  }

  it('S15: everything is there once, and no temporary file', async () => {
    for (let number = 0; number < 6; number++)
      session(`x${number % 2}/${number}.jsonl`, '/w', 'z'.repeat(number * 100));
    let step = 1;
    const tar = () => sessionsOfDomain([{ directory: source }], TABLE, 'work');
    while (await killedAt(step, await tar())) step += 2;
    expect(step).toBeGreaterThan(5);
    await take('work');
    expect(tree(target)).toEqual(tree(source));
    expect(readdirSync(target).sort()).toEqual(['x0', 'x1']);
  });

  it('S15: several at once bring each Session once', async () => {
    for (let number = 0; number < 40; number++) session(`x/${number}.jsonl`, '/w', String(number));
    const reports = await Promise.all([take('work'), take('work'), take('work')]);
    expect(reports.reduce((sum, { added }) => sum + added.count, 0)).toBe(40);
    expect(tree(target)).toEqual(tree(source));
  });

  it('S15: a full disk is one line, and the next call does the rest', async () => {
    session('x/one.jsonl', '/w', 'z'.repeat(1_000));
    const destination = openArrival(target);
    const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    const between = (step: string): void => {
      if (step === 'durable') throw full;
    };
    const tar = await sessionsOfDomain([{ directory: source }], TABLE, 'work');
    await expect(receiveSessions(tar, destination, { word: 'imported', between })).rejects.toThrow(
      /no room for more Sessions/,
    );
    destination.close();
    expect(readdirSync(target)).toEqual([]);
    await take('work');
    expect(tree(target)).toEqual(tree(source));
  });
});

it('S15: no file stays open', async () => {
  for (let number = 0; number < 300; number++) session(`x/${number}.jsonl`, '/w', String(number));
  const before = readdirSync('/proc/self/fd').length;
  await take('work');
  await take('work');
  expect(readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(before + 2);
});
