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
    for (const options of [[], ['--domain', 'private']]) {
      let answer = 'reached';
      let own = '';
      // netavark may have let go of all because a sandbox of another test has ended this moment: the next start mends it.
      for (let tries = 0; answer !== '' && tries < (kind === 'docker' ? 1 : 5); tries++) {
        const { stdout: said } = await shellIn(here.project(), ask, options);
        [answer = '', own = ''] = said.split('\n');
      }
      expect({ answer, own }).toEqual({ answer: '', own: expect.stringMatching(/^10\./) });
      expect(own).not.toBe(address);
    }
    // One for each domain, or where an engine cannot keep apart what is on one network, for each sandbox.
    expect((await networks()).length).toBeGreaterThanOrEqual(kind === 'docker' ? 2 : 3);
    expect((await here.run(['stop', '--all'])).exitCode).toBe(0);
    expect(await networks()).toEqual([]);
  });
});
