import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ENGINES, readyEngine } from '../setup/engines.ts';
import { type Installation, installation } from '../setup/installation.ts';

describe.each(ENGINES)('rule 4: networks of sandboxes on %s', (kind) => {
  let here: Installation;
  let project: string;

  beforeAll(async () => {
    here = await installation(await readyEngine(kind, inject('e2e')));
    here.configure('.env', 'DOMAINS=work,private\nDEFAULT_DOMAIN=work\n');
    project = here.project();
  });

  afterAll(async () => {
    await here.cleanup();
    expect(await here.leftovers()).toEqual([]);
  });

  const shellIn = (where: string, script: string, options: readonly string[] = []) =>
    here.run(['shell', ...options, where, '--', 'sh', '-c', script]);
  const networks = async () => (await here.leftovers()).filter((line) => line.startsWith('network '));
  const SERVE =
    'node -e \'require("http").createServer((q, r) => r.end("reached")).listen(8099, "0.0.0.0")\' >/dev/null 2>&1 & sleep 1; hostname -i; curl -s http://127.0.0.1:8099';

  it('S17: sandboxes reach each other neither in one domain nor across domains', async () => {
    const { stdout } = await shellIn(project, SERVE);
    const [address = '', local] = stdout.split('\n');
    expect(local).toBe('reached');
    const ask = `curl -s --max-time 3 http://${address}:8099; echo; hostname -i`;
    const same = await shellIn(here.project(), ask);
    const other = await shellIn(project, ask, ['--domain', 'private']);
    for (const { stdout: answer } of [same, other]) {
      expect(answer.split('\n')[0]).toBe('');
      expect(answer.split('\n')[1]).toMatch(/^10\./);
      expect(answer.split('\n')[1]).not.toBe(address);
    }
    // One for each domain, or where an engine cannot keep apart what is on one network, for each sandbox.
    expect(await networks()).toHaveLength(kind === 'docker' ? 2 : 3);
    expect((await here.run(['stop', '--all'])).exitCode).toBe(0);
    expect(await networks()).toEqual([]);
  });

  it.runIf(kind === 'podman')(
    'S17: a network of an older version, which others reach, is made anew',
    async () => {
      await shellIn(project, 'true');
      const [line = ''] = await networks();
      const name = line.slice('network '.length);
      const labels = JSON.parse(await here.engine.command(['network', 'inspect', name]))[0].labels;
      await here.run(['stop', '--all']);
      const old = Object.entries(labels).filter(([key]) => key !== 'pi-sandbox.apart');
      const flags = old.flatMap(([key, value]) => ['--label', `${key}=${value}`]);
      await here.engine.command(['network', 'create', '--subnet', '10.214.255.0/26', ...flags, name]);
      expect((await shellIn(project, 'true')).exitCode).toBe(0);
      const made = JSON.parse(await here.engine.command(['network', 'inspect', name]))[0];
      expect(made.options).toEqual({ isolate: 'true' });
    },
  );
});
