import { copyFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeLayoutScene } from '../../faults/agent-dir/layout-scene.ts';
import {
  AGENT_DIR_INSPECTION,
  type AgentDirWorld,
  type Findings,
  openAgentDirWorld,
} from '../../faults/agent-dir/world.ts';
import { AGENT_DIR_FAULTS } from '../../faults/cases/agent-dir.ts';
import { look } from '../../faults/history/census.ts';
import { randomOf } from '../../faults/random.ts';
import { runCase } from '../../faults/run-case.ts';

/** Fixed, so that a failure here is the same one everywhere; `npm run faults` takes others. */
const SEED = 'ci';

let world: AgentDirWorld;
beforeAll(() => {
  world = openAgentDirWorld();
});
afterAll(() => world.close());

describe('W10: the checker of layouts', () => {
  const deeds: [keyof Findings, (agentDir: string, path: string) => void][] = [
    ['lost', (agentDir, path) => rmSync(join(agentDir, path))],
    ['twice', (agentDir, path) => copyFileSync(join(agentDir, path), join(agentDir, 'again'))],
    ['moved wrongly', (agentDir, path) => renameSync(join(agentDir, path), join(agentDir, 'elsewhere'))],
    ['left over', (agentDir) => writeFileSync(join(agentDir, '.pi-sandbox-moving-1'), '')],
  ];
  it.each(deeds)('W10: sees what is %s', (kind, deed) => {
    const { agentDir, check } = makeLayoutScene(world, randomOf('deed', kind));
    const file = look(agentDir).find((seen) => seen.kind === 'file');
    deed(agentDir, file?.path ?? '');
    expect(check()[kind]).not.toEqual([]);
  });
});

describe('W10, W11: the agent directory under faults (docs/faults.md; many more: npm run faults)', () => {
  for (const fault of AGENT_DIR_FAULTS) {
    it(`${fault.name}: ${fault.about}`, { timeout: 180_000 }, async () => {
      const options = { seed: SEED, from: 0, count: fault.tries.few, crowd: 1 };
      const { failures, survived } = await runCase(world, AGENT_DIR_INSPECTION, fault, options);
      expect(failures).toEqual([]);
      expect(survived).toBe(fault.tries.few);
    });
  }
});
