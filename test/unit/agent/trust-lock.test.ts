import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { piCli } from '../../setup/pi.ts';

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'trust-'));
  piCli();
}, 300_000);

afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Sets `decisions` trust decisions with pi's own store, as one sandbox does: through a link in its own directory. */
function sandbox(name: string, decisions: number): Promise<number | null> {
  const agent = join(directory, name);
  mkdirSync(agent);
  symlinkSync(join(directory, 'shared', 'trust.json'), join(agent, 'trust.json'));
  const trust = fileURLToPath(new URL('../../../src/agent/extensions/lock/trust.ts', import.meta.url));
  const module = fileURLToPath(new URL('../../../src/agent/extensions/lock/pi-module.ts', import.meta.url));
  const script = `
    import { installTrustLock } from ${JSON.stringify(trust)};
    import { piClasses } from ${JSON.stringify(module)};
    const { ProjectTrustStore } = await piClasses(${JSON.stringify(piCli())});
    if (!installTrustLock(ProjectTrustStore)) throw new Error('not wrapped');
    const store = new ProjectTrustStore.constructor(${JSON.stringify(agent)});
    for (let i = 0; i < ${decisions}; i++) {
      store.set('/project/${name}-' + i, true);
      if (store.get('/project/${name}-' + i) !== true) process.exit(9);
    }`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return new Promise((resolve) => child.once('exit', resolve));
}

it('S4: sandboxes that change trust.json at the same moment lose no decision', async () => {
  mkdirSync(join(directory, 'shared'));
  const codes = await Promise.all(['a', 'b', 'c'].map((name) => sandbox(name, 40)));
  expect(codes).toEqual([0, 0, 0]);
  const decisions = JSON.parse(readFileSync(join(directory, 'shared', 'trust.json'), 'utf8'));
  expect(Object.keys(decisions)).toHaveLength(120);
});
