import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';
import { eventually, inspect, sandboxes, sandboxOf } from '../setup/look.ts';

let here: Installation;

beforeAll(async () => {
  here = await installation();
});

afterAll(async () => {
  await here.cleanup();
  expect(await here.leftovers()).toEqual([]);
});

const IDLE_SOON = { PI_SANDBOX_IDLE_STOP_MINUTES: '0.05' };

describe('S14, S15: the life of a sandbox', () => {
  it('S14: it ends by itself when nothing lives in it, and its log and ps --all say why', async () => {
    const project = here.project();
    await here.run(['shell', project, '--', 'true'], { env: IDLE_SOON });
    const name = await sandboxOf(here, project);
    await eventually('the idle stop', async () => (await sandboxes(here, project)).length === 0);
    const ended = await here.run(['ps', '--all']);
    expect(ended.stdout).toContain(name);
    expect(ended.stdout).toContain('idle');
    const log = await here.run(['logs', project]);
    expect(log).toMatchObject({ exitCode: 0 });
    expect(log.stdout).toContain('ended');
    expect(log.stdout).toContain('idle');
    const json = await here.run(['logs', '--json', project]);
    const last = JSON.parse(json.stdout.trimEnd().split('\n').at(-1) ?? '');
    expect(last).toMatchObject({ event: 'ended', reason: 'idle' });
  });

  it('S14: it does not end while a program runs in it, however long that is silent', async () => {
    const project = here.project();
    const result = await here.run(['shell', project, '--', 'sh', '-c', 'sleep 6; echo still there'], {
      env: IDLE_SOON,
    });
    expect(result).toMatchObject({ exitCode: 0, stdout: 'still there\n' });
  });

  it('S14: stray processes do not keep it, and ps shows them', async () => {
    const project = here.project();
    await here.run(['shell', project, '--', 'sh', '-c', 'setsid sleep 500 >/dev/null 2>&1 &'], {
      env: { PI_SANDBOX_IDLE_STOP_MINUTES: '0.1' },
    });
    const { stdout } = await here.run(['ps', '--json']);
    const row = JSON.parse(stdout).sandboxes.find((each: { project: string }) => each.project === project);
    expect(row.status.stray).toEqual([
      expect.objectContaining({ command: expect.stringContaining('sleep 500') }),
    ]);
    await eventually('the idle stop', async () => (await sandboxes(here, project)).length === 0);
  });

  it('S15: ps lists what runs, with what lives in it', async () => {
    const project = here.project();
    const child = here.start(['start', '--demo', '--name', 'mine', project, '--', '--mode', 'rpc']);
    child.stdin.write('{"type":"get_state","id":"1"}\n');
    await once(child.stdout, 'data');
    const { stdout } = await here.run(['ps', '--json']);
    const row = JSON.parse(stdout).sandboxes.find((each: { alias?: string }) => each.alias === 'mine');
    expect(row).toMatchObject({ project, domain: 'default', state: 'running', oldImage: false });
    const kinds = row.status.living.map(({ kind }: { kind: string }) => kind);
    expect(kinds).toContain('client');
    expect(kinds).toContain('session');
    expect(row.status.memory.limit).toBeGreaterThan(0);
    const listed = await here.run(['ps']);
    expect(listed.stdout).toMatch(/^PROJECT\s+DOMAIN\s+STATUS/);
    expect(listed.stdout).toContain(project);
    child.stdin.end();
    await once(child, 'close');
    const other = here.project();
    const taken = await here.run(['shell', '--name', 'mine', other, '--', 'true']);
    expect(taken).toMatchObject({ exitCode: 2, stdout: '' });
    for (const one of [project, other]) expect(taken.stderr).toContain(one);
    expect(await here.run(['stop', 'mine'])).toMatchObject({ exitCode: 0 });
    expect(await sandboxes(here, project)).toEqual([]);
  });

  it('S14: what only a new sandbox can take is refused on a join, naming stop', async () => {
    const project = here.project();
    await here.run(['shell', project, '--', 'true']);
    for (const option of [
      ['--memory', '1g'],
      ['--cpus', '1'],
      ['--network', 'none'],
      ['--read-only-project'],
      ['--mount', `type=bind,source=${here.directory},target=/extra`],
      ['--name', 'late'],
    ]) {
      const result = await here.run(['shell', ...option, project, '--', 'true']);
      expect(result.exitCode).toBe(2);
      expect(result.stderr).toContain(String(option[0]));
      expect(result.stderr).toContain('pi-sandbox stop');
    }
  });

  it('S14: a new sandbox takes them', async () => {
    const project = here.project();
    const options = ['--memory', '512m', '--cpus', '1.5', '--network', 'none', '--read-only-project'];
    const extra = here.project();
    const mount = ['--mount', `type=bind,source=${extra},target=/extra,readonly`];
    const script = 'touch made 2>&1; touch /extra/made 2>&1; ls /sys/class/net';
    const result = await here.run(['shell', ...options, ...mount, project, '--', 'sh', '-c', script]);
    expect(result.stdout).toMatch(/made.*Read-only file system[\s\S]*\/extra\/made.*Read-only file system/);
    expect(result.stdout.trimEnd().split('\n').at(-1)).toBe('lo');
    const { HostConfig } = await inspect(here, await sandboxOf(here, project));
    expect(HostConfig).toMatchObject({ Memory: 512 * 2 ** 20, NanoCpus: 1.5e9, NetworkMode: 'none' });
  });

  it('S14: six starts at once make one sandbox, and all are answered', async () => {
    const project = here.project();
    const results = await Promise.all(
      Array.from({ length: 6 }, (_, at) =>
        here.run(['shell', project, '--', 'sh', '-c', `hostname; echo ${at}`]),
      ),
    );
    expect(results.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0, 0, 0]);
    const answers = results.map(({ stdout }) => stdout.split('\n')[1]);
    expect(answers).toEqual(['0', '1', '2', '3', '4', '5']);
    expect(await sandboxes(here, project)).toHaveLength(1);
  });

  it('S14: a start while the sandbox is ending gets a new one', async () => {
    const project = here.project();
    await here.run(['shell', project, '--', 'true']);
    const before = (await inspect(here, await sandboxOf(here, project))).Id;
    const [stopped, started] = await Promise.all([
      here.run(['stop', project]),
      new Promise((resolve) => setTimeout(resolve, 150)).then(() =>
        here.run(['shell', project, '--', 'echo', 'up']),
      ),
    ]);
    expect(stopped.exitCode).toBe(0);
    expect(started).toMatchObject({ exitCode: 0, stdout: 'up\n' });
    expect((await inspect(here, await sandboxOf(here, project))).Id).not.toBe(before);
  });

  it('S15: stop gives pi time to save; its client learns of it', async () => {
    const project = here.project();
    const child = here.start(['start', '--demo', project, '--', '--mode', 'rpc']);
    child.stdin.write('{"type":"prompt","message":"run echo saved","id":"1"}\n');
    let output = '';
    for await (const piece of child.stdout) {
      output += String(piece);
      if (output.includes('agent_settled')) break;
    }
    const ended = once(child, 'exit');
    await here.run(['stop', project]);
    const [code] = await ended;
    expect(code).toBe(143);
    const listed = await here.run([
      'shell',
      project,
      '--',
      'sh',
      '-c',
      'cat ~/.pi/agent/sessions/*/*.jsonl | grep -c saved',
    ]);
    expect(Number(listed.stdout)).toBeGreaterThan(0);
  });

  it('S15: stop of a project without a sandbox says so; stop --all ends every one and their networks', async () => {
    const project = realpathSync(here.project());
    const none = await here.run(['stop', project]);
    expect(none.exitCode).toBe(2);
    expect(none.stderr).toContain(`no sandbox of ${project}`);
    await here.run(['shell', project, '--', 'true']);
    // One that is not there keeps the others running.
    expect(await here.run(['stop', project, here.project()])).toMatchObject({ exitCode: 2, stdout: '' });
    expect(await sandboxes(here, project)).toHaveLength(1);
    const other = here.project();
    await here.run(['shell', other, '--', 'true']);
    const both = await here.run(['stop', project, other, project]);
    expect(both.stdout.trimEnd().split('\n')).toHaveLength(2);
    await here.run(['shell', project, '--', 'true']);
    expect((await here.run(['stop', '--all'])).exitCode).toBe(0);
    expect(await sandboxes(here)).toEqual([]);
    const left = await here.leftovers();
    expect(left.filter((line) => !line.startsWith('volume '))).toEqual([]);
  });

  it('S17, S21: a start whose image is not built leaves no network; logs and ps --all say what they miss', async () => {
    const project = here.project();
    const env = { PI_SANDBOX_PI_VERSION: '0.0.1' };
    const result = await here.run(['shell', '--no-build', project, '--', 'true'], { env });
    expect(result).toMatchObject({ exitCode: 1, stdout: '' });
    expect(result.stderr).toContain('--no-build');
    const left = await here.leftovers();
    expect(left.filter((line) => !line.startsWith('volume '))).toEqual([]);
    expect((await here.run(['ps', '--all'], { env })).stderr).toMatch(/image \S+,.* is missing/);
    expect((await here.run(['logs', project], { env })).stderr).toMatch(/image \S+,.* is missing/);
  });

  it('S15: ps lists the engines that answer, and fails only when none does', async () => {
    const gone = ['--engine', `unix://${here.directory}/gone.sock`];
    const engines = 'unix:///var/run/docker.sock';
    const listed = await here.run(['ps', ...gone], { env: { PI_SANDBOX_ENGINES: engines } });
    expect(listed).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^PROJECT/) });
    expect(listed.stderr).toContain('the default engine: unreachable');
    expect(await here.run(['ps', ...gone])).toMatchObject({ exitCode: 1, stdout: '' });
  });

  it('S20: a sandbox that is killed under a program is told apart from an exit', async () => {
    const project = here.project();
    const child = here.start(['shell', project, '--', 'sh', '-c', 'echo up; sleep 600']);
    let errors = '';
    child.stderr.on('data', (piece) => {
      errors += String(piece);
    });
    const closed = once(child, 'close');
    const early = closed.then(() => Promise.reject(new Error(`it ended early: ${errors}`)));
    await Promise.race([once(child.stdout, 'data'), early]);
    early.catch(() => undefined);
    await here.engine.command(['kill', await sandboxOf(here, project)]);
    const [code] = await closed;
    expect(code).toBe(137);
    expect(errors).toMatch(/the sandbox .* is gone: it was stopped or killed/);
    expect(errors).toContain('pi-sandbox logs');
  });

  it('S14: a start that is killed half way leaves nothing that hinders the next', async () => {
    const project = here.project();
    for (const milliseconds of [300, 500, 700]) {
      const child = here.start(['shell', project, '--', 'echo', 'up']);
      setTimeout(() => child.kill('SIGKILL'), milliseconds);
      await once(child, 'close');
    }
    expect(await here.run(['shell', project, '--', 'echo', 'up'])).toMatchObject({
      exitCode: 0,
      stdout: 'up\n',
    });
    expect(await sandboxes(here, project)).toHaveLength(1);
  });
});
