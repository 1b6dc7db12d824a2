import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readUsage, runJob } from '../../../../src/jobs/index.ts';
import { scriptedPi } from '../../../setup/fake-pi.ts';
import { fileOf, type JobWorld, jobWorld } from '../../../setup/job-world.ts';

let world: JobWorld;
beforeAll(async () => {
  world = await jobWorld();
});
afterAll(() => world.stop());

const usage =
  'const usage = (input, total) => ({ input, output: 1, cacheRead: 2, cacheWrite: 3, cost: { total } });';

function options(script: string) {
  const args = scriptedPi(`${usage} on({ prompt: (request) => {
    answer(request, { disposition: 'started' });
    say({ type: 'agent_start' });
    ${script}
    settle('done');
  } });`);
  return { ...world.options, piCommand: { command: process.execPath, args } };
}

const message = (role: string, more: string): string =>
  `say({ type: 'message_end', message: { role: '${role}', content: [], ${more} } });`;

describe('usage.json (J2, J6)', () => {
  it('J6: counts messages, summaries and what tools report, but not what jobs have counted for themselves', async () => {
    const held = await world.hold('counted', 'x');
    await runJob(
      held,
      options(`
        ${message('assistant', "stopReason: 'toolUse', usage: usage(10, 0.25)")}
        ${message('toolResult', "toolName: 'translate', usage: usage(20, 0.5)")}
        ${message('toolResult', "toolName: 'multi_agent', usage: usage(1000, 100)")}
        say({ type: 'compaction_end', result: { usage: usage(30, 1) } });`),
    );
    expect(await readUsage(held.directory)).toEqual({
      tokens: { input: 60, output: 3, cacheRead: 6, cacheWrite: 9, total: 78 },
      cost: 1.75,
    });
  });

  it('J6: is added to by the next run', async () => {
    const held = await world.hold('added', 'x');
    const one = options(message('assistant', "stopReason: 'toolUse', usage: usage(10, 0.25)"));
    await runJob(held, one);
    await runJob(await world.holdAgain(held, 'y'), one);
    expect(await readUsage(held.directory)).toMatchObject({ tokens: { input: 20 }, cost: 0.5 });
  });

  it('J11: that cannot be read costs its count and nothing else, and is told', async () => {
    const held = await world.hold('torn', 'x');
    writeFileSync(join(held.directory, 'usage.json'), '{"version":1,"tok');
    expect(await readUsage(held.directory)).toBeUndefined();
    const end = await runJob(
      held,
      options(message('assistant', "stopReason: 'toolUse', usage: usage(10, 0.25)")),
    );
    expect(end).toMatchObject({ status: 'done' });
    expect(await readUsage(held.directory)).toMatchObject({ tokens: { input: 10 } });
    expect(fileOf(held.directory, 'runner.log')).toContain('usage.json cannot be read');
  });
});
