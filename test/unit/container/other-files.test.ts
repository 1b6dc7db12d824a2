import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { describe, expect, it } from 'vitest';
import { pathsOf } from '../../../src/agent-dir/index.ts';
import { ask, makeRoots, mergeOf, runIn, runningSandbox, runRequest, sha256, until } from './sandbox.ts';

async function ended(sandbox: Awaited<ReturnType<typeof runningSandbox>>): Promise<void> {
  sandbox.child.kill('SIGTERM');
  await sandbox.exit;
}

describe('what stands in the agent directory beside the links', () => {
  it('S4: is kept in the domain at the end, and is there again at the next start', async () => {
    const roots = makeRoots();
    const { agent } = pathsOf(roots);
    const first = await runningSandbox({ roots });
    await runIn(first, [
      'sh',
      '-c',
      `cd ${agent} && echo state >ext-state.json && mkdir -p ext/deep && echo x >ext/deep/x && mkdir passing.lock && ln -s /nowhere link`,
    ]);
    await ended(first);
    expect(
      first
        .log()
        .filter(({ event }) => event === 'kept-in-domain')
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['ext', 'ext-state.json']);

    rmSync(roots.memory, { recursive: true });
    mkdirSync(roots.memory);
    const second = await runningSandbox({ roots });
    const seen = await runIn(second, [
      'sh',
      '-c',
      `cd ${agent} && cat ext-state.json ext/deep/x && echo newer >ext-state.json && ls`,
    ]);
    expect(seen.stdout.toString()).toMatch(/^state\nx\n/);
    expect(seen.stdout.toString()).not.toMatch(/^(link|passing.lock)$/m);
    await ended(second);
    expect(readFileSync(`${roots.domain}/agent/ext-state.json`, 'utf8')).toBe('newer\n');
  });

  it('S4: one that is removed by hand stays removed', async () => {
    const roots = makeRoots();
    const { agent, domainAgent } = pathsOf(roots);
    mkdirSync(domainAgent, { recursive: true });
    writeFileSync(`${domainAgent}/ext-state.json`, 'old');
    await runningSandbox({ roots });
    expect(readlinkSync(`${agent}/ext-state.json`)).toBe(`${domainAgent}/ext-state.json`);
    rmSync(`${agent}/ext-state.json`);
    await until(() => !existsSync(`${domainAgent}/ext-state.json`), 'the file behind the link to go');
  });
});

describe('the shared agent directory', () => {
  it('S5: a link that another domain planted there leads nobody to a file of its own', async () => {
    const roots = makeRoots();
    const { sharedAgent, home } = pathsOf(roots);
    mkdirSync(sharedAgent, { recursive: true });
    mkdirSync(home, { recursive: true });
    writeFileSync(`${home}/notes.json`, 'mine');
    for (const name of ['auth.json', 'trust.json', 'npm'])
      symlinkSync(`${home}/notes.json`, `${sharedAgent}/${name}`);
    const sandbox = await runningSandbox({ roots });
    const written = await runIn(sandbox, ['sh', '-c', `echo login >${pathsOf(roots).agent}/auth.json`]);
    expect(written.exited).toMatchObject({ code: 0 });
    expect(readFileSync(`${home}/notes.json`, 'utf8')).toBe('mine');
    expect(lstatSync(`${sharedAgent}/auth.json`).isFile()).toBe(true);
    const problems = () => sandbox.log().filter(({ event }) => event === 'setup-problem');
    await until(() => problems().length === 3, 'three lines in the log');
  });
});

describe('a join', () => {
  it('S14: mends links that were broken since', async () => {
    const sandbox = await runningSandbox();
    const broken = `${pathsOf(sandbox.roots).home}/.kube`;
    rmSync(broken);
    const connection = await sandbox.join();
    const merge = await mergeOf();
    const announced = { length: merge.length, sha256: sha256(merge) };
    expect(await ask(connection, runRequest(['true'], { merge: announced }), merge)).toMatchObject({
      answer: 'accepted',
    });
    await until(() => existsSync(broken), 'the link to stand again');
  });

  it('S8: a change of a file that pi itself writes is named', async () => {
    const sandbox = await runningSandbox();
    const connection = await sandbox.join();
    const merge = await mergeOf({}, { 'config/keybindings.json': '{"a":"x"}' });
    const announced = { length: merge.length, sha256: sha256(merge) };
    await ask(connection, runRequest(['true'], { merge: announced }), merge);
    const { agent } = pathsOf(sandbox.roots);
    const changed = await runIn(sandbox, ['sh', '-c', `echo '{"a":"y"}' >${agent}/keybindings.json`], {
      program: 'pi',
    });
    expect(JSON.stringify(changed)).toContain('keybindings.json (a)');
  });
});
