import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';
import { eventually, sandboxOf } from '../setup/look.ts';

const INSTALLED = spawnSync('tmux', ['-V']).status === 0;

/** A terminal that people really use, which judges by itself what a program has set and left behind. */
describe.skipIf(!INSTALLED)('S20: in tmux', () => {
  let here: Installation;
  let project: string;
  let socket = '';

  beforeAll(async () => {
    here = await installation();
    here.configure(
      'config/settings.json',
      JSON.stringify({ quietStartup: true, defaultProjectTrust: 'never', tuiMode: 'fullscreen' }),
    );
    project = here.project();
  });

  beforeEach(async () => {
    // A server of this test's own, with nobody's configuration; the one before may still be ending.
    socket = join(here.directory, `${randomBytes(4).toString('hex')}.sock`);
    await tmux('-f', '/dev/null', 'new-session', '-d', '-x', '100', '-y', '30', 'sh');
    await tmux('set', '-g', 'set-clipboard', 'on');
  });

  afterEach(async () => {
    await tmux('kill-server');
  });

  afterAll(async () => {
    await here.cleanup();
    expect(await here.leftovers()).toEqual([]);
  });

  async function tmux(...words: string[]): Promise<string> {
    const command = ['-S', socket, ...words];
    const { stdout } = await promisify(execFile)('tmux', command, { env: { ...here.env, SHELL: '/bin/sh' } });
    return stdout;
  }

  const screen = () => tmux('capture-pane', '-p');
  const shows = (text: string | RegExp) =>
    eventually(`${text}`, async () => {
      const shown = await screen();
      return (typeof text === 'string' ? shown.includes(text) : text.test(shown)) && shown;
    });
  /** Alternate screen, mouse, focus and bracketed paste are off, the cursor is shown, when the answer is this. */
  const CLEAN = '0 0 0 1';
  const modes = async () =>
    (
      await tmux('display', '-p', '#{alternate_on} #{mouse_any_flag} #{keypad_cursor_flag} #{cursor_flag}')
    ).trim();

  /** The command as a line of the shell in the pane; how it left the terminal goes into files. */
  async function type(...words: string[]): Promise<void> {
    const [before, after] = ['before', 'after'].map((name) => join(here.directory, `stty-${name}`));
    const line = words.map((word) => `'${word}'`).join(' ');
    await tmux(
      'send-keys',
      '-l',
      `clear; stty -a >${before}; ${line}; echo "code=$?"; stty -a >${after}; echo over`,
    );
    await tmux('send-keys', 'Enter');
  }
  const command = (...words: string[]) => type(process.execPath, here.cli, ...words);
  /** But for the size, which is the window's and not the command's. */
  const stty = (name: string) =>
    readFileSync(join(here.directory, `stty-${name}`), 'utf8').replace(/rows \d+; columns \d+/, '');

  async function expectAsBefore(): Promise<void> {
    await shows(/^over$/m);
    expect(await modes()).toBe(CLEAN);
    expect(stty('after')).toBe(stty('before'));
  }

  it('S20: the first frame fills the pane, its title is pi’s, and after Ctrl-D all is as it was', async () => {
    await command('start', '--demo', project);
    const first = await shows('demo-1');
    expect(first).toMatch(/^─{100}$/m);
    expect(await modes()).toMatch(/^1 1/);
    await eventually('the title', async () =>
      (await tmux('display', '-p', '#{pane_title}')).includes('shop'),
    );
    await tmux('send-keys', 'C-d');
    await expectAsBefore();
    expect(await screen()).toContain('code=0');
  });

  it('S20: 100 resizes in 2 s while pi draws: the last one counts', async () => {
    await command('start', '--demo', project);
    await shows('demo-1');
    await tmux('send-keys', '-l', 'run for i in $(seq 1 300); do echo line $i; sleep 0.005; done');
    await tmux('send-keys', 'Enter');
    for (let n = 0; n < 100; n++) {
      await tmux('resize-window', '-x', String(50 + ((n * 37) % 90)), '-y', String(12 + ((n * 17) % 30)));
      await sleep(10);
    }
    await tmux('resize-window', '-x', '91', '-y', '27');
    await eventually('the rules of 91', async () => {
      const rules = (await screen()).match(/─{20,}/g) ?? [];
      return rules.length >= 2 && rules.every((rule) => rule.length === 91);
    });
    await shows('characters in all');
    await tmux('send-keys', 'C-d');
    await expectAsBefore();
  });

  it('S20: what a program in the sandbox copies is in tmux’s buffer', async () => {
    const copied = Buffer.from('copied in the sandbox, é').toString('base64');
    await command('shell', project, '--', 'printf', `\\033]52;c;${copied}\\007`);
    await expectAsBefore();
    await eventually(
      'the buffer',
      async () => (await tmux('show-buffer').catch(() => '')) === 'copied in the sandbox, é',
    );
  });

  it('S20: a paste of many lines is one paste in pi', async () => {
    await command('start', '--demo', project);
    await shows('demo-1');
    await tmux('set-buffer', Array.from({ length: 30 }, (_, n) => `pasted line ${n}`).join('\n'));
    await tmux('paste-buffer', '-p');
    await shows(/\[paste #1 \+30 lines\]/);
    await tmux('send-keys', 'C-c');
    await tmux('send-keys', 'C-d');
    await expectAsBefore();
  });

  it('S20: all is as it was also when the sandbox is killed', async () => {
    await command('start', '--demo', project);
    await shows('demo-1');
    await here.engine.command(['kill', await sandboxOf(here, project)]);
    await expectAsBefore();
    expect(await screen()).toContain('code=137');
  });

  it('S20: with the pane its pi ends', async () => {
    const mark = join(here.directory, 'ended');
    await type(
      'sh',
      '-c',
      `trap "" HUP; ${process.execPath} ${here.cli} start --demo ${project}; echo $? >${mark}`,
    );
    await shows('demo-1');
    await tmux('kill-pane');
    await eventually('the end', async () => existsSync(mark) && readFileSync(mark, 'utf8') !== '');
    // So that there is one to kill.
    await tmux('-f', '/dev/null', 'new-session', '-d', 'sh');
  });
});
