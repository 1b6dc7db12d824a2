import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { answerQuestion, isAllowed, parseQuestion } from '../../../src/cli/sandbox/git-credentials.ts';

describe('S10: what a sandbox may ask a credential helper', () => {
  it('S10: protocol, host and user name pass, and nothing else', () => {
    expect(parseQuestion('protocol=https\nhost=a.example:8443\nusername=ada\npath=x/y\nurl=z\n\n')).toEqual({
      protocol: 'https',
      host: 'a.example:8443',
      username: 'ada',
    });
  });

  it.each([
    'protocol=ssh\nhost=a.example\n',
    'protocol=https\nhost=\n',
    'host=a.example\n',
    'protocol=https\nhost=a.example/..\n',
    'protocol=https\nhost=a.example\rhost=b\n',
    'protocol=https\nhost=a@b.example\n',
    'protocol=https\nhost=a.example\nusername=x\u0001y\n',
  ])('S10: refuses %j', (question) => {
    expect(() => parseQuestion(question)).toThrow();
  });

  it('S10: whatever is asked, at most three clean lines reach the helper', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        try {
          const { host, username = '' } = parseQuestion(`protocol=https\n${text}`);
          expect(`${host}${username}`).not.toMatch(/\p{Cc}/u);
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
        }
      }),
      { seed: 10 },
    );
  });

  it('S10: a host is allowed by its name for every port, or by name and port alone', () => {
    expect(isAllowed('Git.Example:8443', ['git.example'])).toBe(true);
    expect(isAllowed('git.example', ['git.example:8443'])).toBe(false);
    expect(isAllowed('evil-git.example', ['git.example'])).toBe(false);
  });
});

/** The environment of a user whose git asks this shell command. */
function askingHelper(script: string): { env: NodeJS.ProcessEnv; directory: string } {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'helper-')));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, 'helper'), `#!/bin/sh\ncd ${directory}\n${script}\n`, { mode: 0o755 });
  writeFileSync(join(directory, 'config'), `[credential]\n\thelper = ${directory}/helper\n`);
  return { env: { ...process.env, GIT_CONFIG_GLOBAL: join(directory, 'config') }, directory };
}

/** Its command line; empty when it has ended, also while nobody has asked for its exit code yet. */
function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}

const QUESTION = 'protocol=https\nhost=a.example\n\n';

describe('S10: a credential helper of the user’s', () => {
  it('S10: answers, and more than credentials does not pass', async () => {
    const { env } = askingHelper('echo username=ada; echo password=s3cret; echo path=x; echo quit=0');
    const question = answerQuestion(['a.example'], env);
    question.write(QUESTION);
    expect(await text(question)).toBe('protocol=https\nhost=a.example\nusername=ada\npassword=s3cret\n');
  });

  it('rule 7: one that hangs is ended in time, with everything that it has started', async () => {
    const { env, directory } = askingHelper("trap '' TERM; sleep 300 & echo $! >child; echo $$ >own; wait");
    const question = answerQuestion(['a.example'], env, 3_000);
    question.write(QUESTION);
    await expect(text(question)).rejects.toThrow('too slow');
    for (const name of ['child', 'own']) {
      const pid = readFileSync(join(directory, name), 'utf8').trim();
      expect(pid).toMatch(/^\d+$/);
      await expect.poll(() => commandOf(pid), { timeout: 5_000 }).toBe('');
    }
  });
});

describe('rule 7: questions without end', () => {
  it.each([
    ['that never come to one', 'x'],
    ['after which more comes', `${QUESTION}x`],
  ])('S10: %s are let go of', async (_, beginning) => {
    const { env } = askingHelper('sleep 2');
    const question = answerQuestion(['a.example'], env);
    question.write(beginning);
    question.write('x'.repeat(9_000));
    await expect(text(question)).rejects.toThrow('too long');
  });

  it('S10: at most eight helpers run at once, also for channels that were closed meanwhile', async () => {
    const { env, directory } = askingHelper('echo x >>asked; sleep 2');
    for (let at = 0; at < 20; at++) {
      const question = answerQuestion(['a.example'], env).on('error', () => undefined);
      question.write(QUESTION);
      await sleep(20);
      question.destroy();
    }
    await sleep(1_000);
    expect(readFileSync(join(directory, 'asked'), 'utf8')).toBe('x\n'.repeat(8));
    await sleep(2_000);
  });
});
