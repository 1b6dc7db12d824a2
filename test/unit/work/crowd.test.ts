/** Many processes in one work root, in little; in containers and in large: test/e2e/work.test.ts, docs/faults.md. */
import { spawn } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { check } from '../../faults/work/checker.ts';
import { builtProgram } from '../../setup/built-program.ts';
import { makeScene } from './scene.ts';

const MAX_RUNS = 3;
const MAX_BYTES = 256 * 1024;

async function run(program: string, ...words: string[]): Promise<string> {
  const child = spawn(process.execPath, [program, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 60_000,
  });
  return text(child.stdout);
}

describe('a crowd', () => {
  it('W5, W6, W7: no held run goes, none over the policy stays, nothing is left unowned', async () => {
    const { root, outside } = makeScene();
    const program = builtProgram('test/faults/work/crowd.ts');
    const journals = join(outside, 'journals');
    await run(program, 'drive', root, journals, 'unit', '6', '3000');
    expect(JSON.parse(await run(program, 'finish', root))).toEqual({ problems: [], cut: false });
    const found = check(root, journals, MAX_RUNS, MAX_BYTES);
    expect(found.wrong).toEqual([]);
    expect(found.acquired).toBeGreaterThan(9);
  }, 90_000);

  it('W6: its checker sees what must not be', async () => {
    const scene = makeScene();
    const journals = join(scene.outside, 'journals');
    mkdirSync(journals);
    const wrong = (): string => check(scene.root, journals, MAX_RUNS, MAX_BYTES).wrong.join('\n');
    const path = await scene.run('r');
    writeFileSync(join(journals, '1.jsonl'), `${JSON.stringify({ acquired: path })}\n{"acquired":"/to`);
    expect(wrong()).toBe('');
    mkdirSync(join(scene.tenant, 'nobodys'));
    expect(wrong()).toContain('nobody’s');
    renameSync(join(scene.tenant, 'nobodys'), join(scene.tenant, `.building-${'a'.repeat(32)}`));
    expect(wrong()).toContain('left over');
    writeFileSync(join(path, 'large'), Buffer.alloc(MAX_BYTES));
    expect(wrong()).toContain('bytes');
    for (const name of ['a', 'b', 'c']) await scene.run(name);
    expect(wrong()).toContain('4 runs');
    rmSync(path, { recursive: true });
    expect(wrong()).toContain('no word of it');
    writeFileSync(join(journals, '2.jsonl'), '{"violation":"x"}\n');
    expect(wrong()).toContain('violation');
  });
});
