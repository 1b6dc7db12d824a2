import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';
import { type TestTerminal, terminal } from '../setup/terminal.ts';

let here: Installation;
let project: string;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  here = await installation();
  here.configure('.env', 'DOMAINS=work,private\nDEFAULT_DOMAIN=work\n');
  project = here.project();
  await here.run(['shell', project, '--name', 'my-shop', '--', 'true']);
  const bin = join(here.directory, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'pi-sandbox'), `#!/bin/sh\nexec '${process.execPath}' '${here.cli}' "$@"\n`);
  chmodSync(join(bin, 'pi-sandbox'), 0o755);
  env = { ...here.env, PATH: `${bin}:${here.env.PATH}`, TERM: 'xterm-256color' };
});

afterAll(async () => {
  await here.cleanup();
  expect(await here.leftovers()).toEqual([]);
});

const words = async (...given: string[]): Promise<string[]> =>
  (await here.run(['__complete', '--', ...given])).stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t')[0] ?? '');

describe('S15: what could stand at the cursor', () => {
  it('S15: verbs and options, from the grammar itself', async () => {
    expect(await words('st')).toEqual(['start', 'stop', ':none']);
    expect(await words('sessions', '')).toEqual(
      expect.arrayContaining(['list', 'prune', 'restore', ':none']),
    );
    expect(await words('start', '--netw')).toEqual(['--network', ':none']);
    expect(await words('--engine', 'x', 'start', '--network', '')).toEqual(['open', 'none', ':none']);
    expect(await words('config', 'keep', '--to', '')).toEqual(['global', 'domain', 'none', ':none']);
    expect(await words('export', '--to', '')).toEqual([':directories']);
    expect(await words('')).not.toContain('__relay');
    expect(await words('nothing-like-it', '')).toEqual([':none']);
    expect(await words('shell', '.', '--', 'cat', '')).toEqual([':files']);
  });

  it('S15: live names of sandboxes, domains and Sessions', async () => {
    expect(await words('stop', '')).toEqual(['my-shop', ':directories']);
    expect(await words('cp', 'my')).toEqual(['my-shop:', ':files']);
    expect(await words('start', '--domain', 'p')).toEqual(['private', ':none']);
    expect(await words('sessions', 'clear', '')).toEqual(['work', 'private', ':none']);
    const made = `mkdir -p ~/.pi/agent/sessions/--x--; echo '{"type":"session","version":3,"id":"01a22dde-aaaa","timestamp":"2026-11-30T19:10:58.599Z","cwd":"/x"}' >~/.pi/agent/sessions/--x--/2026_01a22dde-aaaa.jsonl`;
    await here.run(['exec', project, '--', 'sh', '-c', made]);
    expect(await words('sessions', 'show', '01')).toEqual(['01a22dde-aaaa', ':none']);
    expect(await words('sessions', 'rm', 'another', '01')).toEqual(['01a22dde-aaaa', ':none']);
  });

  it('S15: an engine that is not there costs only the names', async () => {
    const result = await here.run(['__complete', '--', 'stop', ''], {
      env: { DOCKER_HOST: 'unix:///nowhere' },
    });
    expect(result).toMatchObject({ exitCode: 0, stdout: ':directories\n', stderr: '' });
  });

  it('S15: a shell that there is no script for is wrong usage', async () => {
    expect(await here.run(['completion', 'csh'])).toMatchObject({ exitCode: 2, stdout: '' });
  });
});

const SHELLS: [string, string[], string][] = [
  ['bash', ['--norc', '--noprofile', '-i'], 'source <(pi-sandbox completion bash)'],
  ['zsh', ['-f', '-i'], 'autoload -Uz compinit; compinit -u -D; source <(pi-sandbox completion zsh)'],
  ['fish', ['--no-config', '-i'], 'pi-sandbox completion fish | source'],
];

describe.each(SHELLS)('S15: completion in a real %s', (shell, args, load) => {
  const installed = spawnSync(shell, ['-c', 'true']).status === 0;

  it.skipIf(!installed)('S15: Tab completes a verb, an option and the name of a sandbox', async () => {
    const window: TestTerminal = terminal(shell, args, { env, cwd: here.directory, columns: 100, rows: 30 });
    window.type(`${load}; echo rea''dy\r`);
    await window.shows(/^ready$/m);
    window.type('pi-sandbox insp\t');
    await window.shows('pi-sandbox inspect');
    window.type('my\t');
    await window.shows('inspect my-shop');
    window.type('--js\t');
    await window.shows('my-shop --json');
    window.type('| head -c 20\r');
    await window.shows('"version": 1');
    window.type('exit\r');
    await window.exited();
  });
});
