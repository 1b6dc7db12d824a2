import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { migrateAgentDirLayout, openAgentDir, pathsOf, type Roots } from '../../../src/agent-dir/index.ts';
import { plant, treeOf } from '../agent-dir/scene.ts';
import { makeRoots, runningSandbox, temporary } from './sandbox.ts';

/** What the first sandbox of a volume finds there. */
function oldVolume(): Roots {
  const roots = makeRoots();
  plant(pathsOf(roots).sharedAgent, {
    'backups/settings.json': 'old settings',
    'tmp/report': 'scratch',
    'unknown.json': 'unknown',
  });
  return roots;
}

const moved = (roots: Roots) => treeOf(pathsOf(roots).sharedAgent)['state/backups/config/settings.json'];

describe("the shared volume's layout", () => {
  it("W10: is migrated before the first program, within the shared volume's own agent directory", async () => {
    const roots = oldVolume();
    const sandbox = await runningSandbox({ roots });
    expect(treeOf(pathsOf(roots).sharedAgent)).toMatchObject({
      'state/backups/config/settings.json': 'old settings',
      'state/legacy-layout/tmp/report': 'scratch',
      'unknown.json': 'unknown',
    });
    expect(treeOf(pathsOf(roots).domainAgent)).not.toHaveProperty('state/backups/config/settings.json');
    expect(sandbox.log()).toContainEqual(
      expect.objectContaining({ event: 'layout-migrated', moved: 2, left: 0 }),
    );
  });

  it('W10: stays as it is while another sandbox is alive on the volume, and is migrated when that has gone', {
    timeout: 60_000,
  }, async () => {
    const first = await runningSandbox();
    plant(pathsOf(first.roots).sharedAgent, { 'backups/settings.json': 'old settings' });
    const second = makeRoots(temporary(), first.roots.shared);
    const sandbox = await runningSandbox({ roots: second });
    expect(moved(second)).toBeUndefined();
    expect(sandbox.log()).toContainEqual(
      expect.objectContaining({ event: 'layout-kept', busyWith: 'a running sandbox' }),
    );
    for (const { child, exit } of [first, sandbox]) {
      child.kill('SIGKILL');
      await exit;
    }
    await runningSandbox({ roots: makeRoots(temporary(), first.roots.shared) });
    expect(moved(second)).toBe('old settings');
  });

  it('W10: a program of the only sandbox can have it migrated by hand', async () => {
    const { roots } = await runningSandbox();
    const { sharedAgent, liveMark } = pathsOf(roots);
    plant(sharedAgent, { 'backups/settings.json': 'old settings' });
    const top = openAgentDir(sharedAgent);
    if (top === undefined) throw new Error('no agent directory');
    const own = Number(readFileSync(liveMark, 'utf8'));
    expect(await migrateAgentDirLayout(top)).toMatchObject({ outcome: 'busy' });
    expect(await migrateAgentDirLayout(top, { own })).toMatchObject({ outcome: 'done', moved: 1 });
    top.close();
  });

  it('S3: what another domain plants there leads nothing astray and keeps nobody from starting', async () => {
    const roots = makeRoots();
    const { sharedAgent, domainAgent } = pathsOf(roots);
    plant(sharedAgent, { 'backups/planted': 'planted' });
    mkdirSync(domainAgent, { recursive: true });
    symlinkSync(`${domainAgent}/state`, `${sharedAgent}/state`);
    mkdirSync(`${sharedAgent}/.live.lock`);
    await runningSandbox({ roots });
    expect(treeOf(sharedAgent)['backups/planted']).toBe('planted');
    expect(JSON.stringify(treeOf(domainAgent))).not.toContain('planted');
  });
});
