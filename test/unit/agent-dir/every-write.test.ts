/** SIGKILL before each call that changes something, one after the other, and after the last: then the next run. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type AgentDir, readMemory } from '../../../src/agent-dir/index.ts';
import {
  INDEX_NAME,
  POINTER,
  renderIndex,
  renderShards,
  shardName,
} from '../../../src/agent-dir/memory/shards.ts';
import type { AgentDirJob } from '../../faults/agent-dir/driver.ts';
import { filesOf } from '../../faults/agent-dir/memory-scene.ts';
import type { FaultPlan } from '../../faults/history/broken-fs.ts';
import { type Result, resultOf, startChild } from '../../faults/history/child.ts';
import { agentDirWith, type Tree, treeOf } from './scene.ts';

type Work = AgentDirJob['work'];

async function run(agentDir: AgentDir, work: Work, plan?: FaultPlan): Promise<Result> {
  const job: AgentDirJob = { agentDir, work, ...(plan === undefined ? {} : { plan }) };
  return resultOf(startChild('agent-dir', [JSON.stringify(job)]));
}

/** Each directory after a run that was killed before its next change; `after` is how one looks that was left alone. */
async function eachKilled(
  tree: Tree,
  work: Work,
  look: (agentDir: AgentDir) => unknown,
  killed: (agentDir: AgentDir, after: unknown) => Promise<void>,
): Promise<void> {
  const whole = agentDirWith(tree);
  const { calls, end } = await run(whole, work, { at: 0, of: 'changes', fault: 'kill' });
  expect(end).toBe(0);
  expect(calls).toBeGreaterThan(5);
  const after = look(whole);
  for (let at = 1; at <= calls; at++) {
    const agentDir = agentDirWith(tree);
    const { end: how } = await run(agentDir, work, { at, of: 'changes', fault: 'kill' });
    expect(how).toBe('SIGKILL');
    await killed(agentDir, after);
    const again = await run(agentDir, work);
    expect({ at, end: again.end, found: look(agentDir) }).toEqual({ at, end: 0, found: after });
  }
}

const PATIENT = { timeout: 300_000 };
const BUDGET = 512;
const PREFERENCES = 'okf-memory/user-preferences';
const FACTS = Array.from({ length: 90 }, (_, n) => `- fact ${n} ${'x'.repeat(100)}\n`);

/** Everything but locks, and what a killed writer may leave. */
function kept(agentDir: AgentDir): Record<string, string> {
  return Object.fromEntries(
    Object.entries(treeOf(agentDir)).filter(([path]) => !path.includes('.pi-sandbox-tmp-')),
  );
}

describe('killed before each write', () => {
  it(
    'W11: a profile that outgrows its budget: nothing is lost or twice, and the shards are the same',
    PATIENT,
    async () => {
      const work: Work = { verb: 'add', text: 'the new one', budget: BUDGET };
      await eachKilled({ 'USER.md': FACTS.join('') }, work, kept, async (agentDir) => {
        const { profile } = await readMemory(agentDir);
        expect([FACTS.join(''), `${FACTS.join('')}- the new one\n`]).toContain(profile);
        // The pointer comes last: until then all of it is in USER.md.
        const user = readFileSync(join(agentDir, 'USER.md'), 'utf8');
        if (user !== FACTS.join('')) expect(Object.keys(filesOf(agentDir))).toContain('index.okf.md');
      });
    },
  );

  it(
    'W11: a profile that needs a shard less: nothing is lost, and the shard goes last',
    PATIENT,
    async () => {
      const [first, second, last] = ['one', 'two', 'three'].map((word) => `- ${word} ${'x'.repeat(6_000)}\n`);
      const before = `${first}${second}${last}`;
      const shards = renderShards(before).map((text, at) => [`${PREFERENCES}/${shardName(at + 1)}`, text]);
      const index = [`${PREFERENCES}/${INDEX_NAME}`, renderIndex(before)];
      const tree = { 'USER.md': POINTER, ...Object.fromEntries([...shards, index]) };
      const work: Work = { verb: 'replace', old: second?.trim() ?? '', text: '- short', budget: BUDGET };
      await eachKilled(tree, work, kept, async (agentDir) => {
        expect([before, `${first}- short\n${last}`]).toContain((await readMemory(agentDir)).profile);
      });
    },
  );

  it(
    'W10: a layout: every file is there once, and the next run ends as if nothing had been',
    PATIENT,
    async () => {
      const tree = {
        'backups/a': 'old a',
        'backups/b': 'old b',
        'backups/d/x': 'old x',
        'state/backups/config/a': 'new a',
        'auto-learn/notes': 'learned',
        'tmp/report': 'scratch',
        'tmp/extensions/x': 'a package',
        'auth.json:Zone.Identifier': 'zone',
        'trust.json': '{}',
      };
      const contents = Object.values(tree).sort();
      await eachKilled(tree, { verb: 'migrate', waitMs: 5_000 }, withoutEmpty, async (agentDir) => {
        // A file that is being moved has two names for a moment; its content is one.
        const found = new Set(Object.values(withoutEmpty(agentDir)));
        expect([...found].sort()).toEqual(contents);
      });
    },
  );
});

function withoutEmpty(agentDir: AgentDir): Record<string, string> {
  return Object.fromEntries(Object.entries(treeOf(agentDir)).filter(([path]) => !path.endsWith('/')));
}
