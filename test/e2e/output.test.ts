/** Where a verb's own output goes when nobody takes it. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { cleanEnvironment } from '../setup/scene.ts';

function inShell(line: string): { code: number | null; stderr: string } {
  const { root, directory } = inject('e2e');
  const { status, stderr } = spawnSync('bash', ['-c', line], {
    encoding: 'utf8',
    env: {
      ...cleanEnvironment(directory),
      NODE: process.execPath,
      COMMAND: join(root, 'dist/cli/pi-sandbox.mjs'),
    },
  });
  return { code: status, stderr };
}

it('rule 5: a reader that has seen enough is no failure', () => {
  const run = inShell('set -o pipefail; "$NODE" "$COMMAND" config show | true');
  expect(run).toEqual({ code: 0, stderr: '' });
});

it('rule 5: output that a full disk does not take is told in one line', () => {
  const { code, stderr } = inShell('"$NODE" "$COMMAND" config show >/dev/full');
  expect(code).toBe(1);
  expect(stderr).toMatch(/^pi-sandbox: cannot write the output: ENOSPC[^\n]*\n$/);
});

it('S15: stop with a project and --all stops nothing', () => {
  const { code, stderr } = inShell('"$NODE" "$COMMAND" stop --all elsewhere');
  expect(code).toBe(2);
  expect(stderr).toContain('not both');
});
