import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SCRIPTS } from '../../../src/cli/completion/scripts.ts';

let bin = '';
beforeEach(() => {
  bin = mkdtempSync(join(tmpdir(), 'completion-'));
});
afterEach(() => rmSync(bin, { recursive: true }));

/** What bash would put into the line after `forward`, when these are the candidates. */
function inserted(lines: string): string {
  writeFileSync(join(bin, 'answer'), lines);
  writeFileSync(join(bin, 'pi-sandbox'), `#!/bin/sh\ncat '${bin}/answer'\n`);
  chmodSync(join(bin, 'pi-sandbox'), 0o755);
  writeFileSync(join(bin, 'script'), SCRIPTS.bash);
  const ask = `source '${bin}/script'; COMP_WORDS=(pi-sandbox forward ''); COMP_CWORD=2; _pi_sandbox; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['--norc', '-c', ask], {
    encoding: 'utf8',
    env: { ...process.env, PATH: `${bin}:${process.env.PATH}` },
  });
}

it('rule 8: a project whose path is a program for the shell is put into the line as a word', () => {
  const path = '/tmp/a b/$(touch pwned)`x`;\'"';
  const word = inserted(`${path}\tin work\n:none\n`).trimEnd();
  expect(execFileSync('bash', ['-c', `printf %s ${word}`], { encoding: 'utf8', cwd: bin })).toBe(path);
});

it('S15: an ordinary name stays as it is', () => {
  expect(inserted('my-shop\tin work\n/work/my_shop\n:none\n')).toBe('my-shop\n/work/my_shop\n');
});
