/** Work directories on a real engine: in sandboxes, from extensions of a real pi, and between containers (W1-W8). */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { builtProgram } from '../setup/built-program.ts';
import { engineOf } from '../setup/engines.ts';
import { type Installation, installation } from '../setup/installation.ts';
import { sweep } from '../setup/leftovers.ts';
import { type ModelServer, modelServer } from '../setup/model-server.ts';

describe('in a sandbox', () => {
  let here: Installation;
  let model: ModelServer;

  beforeAll(async () => {
    [here, model] = await Promise.all([installation(), modelServer()]);
    here.configure('.env', 'DOMAINS=work,other\nDEFAULT_DOMAIN=work\n');
    here.configure('config/models.json', model.models);
    here.configure('config/settings.json', model.settings);
    here.configure(
      'config/extensions/scratch.ts',
      `import { getStorage } from 'pi-sandbox/work';
       import { writeFileSync } from 'node:fs';
       export default function (pi: any) {
         const storage = getStorage('scratch', pi);
         pi.on('session_start', async () => {
           const run = await storage.acquireWorkRun({ runId: 'notes' });
           writeFileSync(run.path + '/note', storage.stateDir);
         });
       }`,
    );
  });

  afterAll(async () => {
    await here.cleanup();
    await model.stop();
    expect(await here.leftovers()).toEqual([]);
  });

  const shell = (project: string, script: string, options: readonly string[] = []) =>
    here.run(['shell', ...options, project, '--', 'sh', '-c', script]);

  it('W3, W8: an extension stores its work in the domain, and pi-work shows it', async () => {
    const project = here.project();
    model.say('hello', 'Hello.');
    const pi = await here.run(['start', project, '--', '-p', 'hello']);
    expect(pi).toMatchObject({ exitCode: 0, stdout: 'Hello.\n', stderr: '' });
    const script = `pi-work path; echo "$PI_WORK_ROOT"; pi-work list --json; cat "$(pi-work path extensions scratch notes)/note"; echo; pi-work doctor`;
    const { stdout, stderr, exitCode } = await shell(project, script);
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
    const [path, variable, ...rest] = stdout.split('\n');
    expect([path, variable]).toEqual(Array(2).fill('/home/pi/.pi/domain/agent/work'));
    const json = rest.join('\n');
    expect(JSON.parse(json.slice(0, json.lastIndexOf('}\n') + 1))).toMatchObject({
      runs: [{ category: 'extensions', tenant: 'scratch', runId: 'notes', inUse: false }],
    });
    expect(stdout).toContain('/agent/state/extensions/scratch\n');
    expect(stdout).toContain('all is well');
  });

  it('W1: another sandbox of the domain sees it, held or not, and another domain does not', async () => {
    const [one, two] = [here.project(), here.project()];
    const hold = `import('pi-sandbox/work').then(async ({ acquireWorkRun }) => {
      await acquireWorkRun({ category: 'jobs', tenant: 'shop', runId: 'held' });
      console.log('held');
      setTimeout(() => {}, 60_000);
    })`;
    const holder = here.start(['shell', one, '--', 'node', '-e', hold]);
    await holder.stdout.take(1).toArray();
    const list = 'pi-work prune jobs shop --runs 0 >/dev/null; pi-work list jobs --json';
    const { runs } = JSON.parse((await shell(two, list)).stdout);
    expect(runs).toMatchObject([{ runId: 'held', inUse: true, holders: [{ pid: expect.any(Number) }] }]);
    const other = await shell(two, 'pi-work list --json', ['--domain', 'other']);
    expect(JSON.parse(other.stdout).runs).toEqual([]);
    holder.kill('SIGKILL');
    await here.run(['stop', '--all']);
    await shell(two, list);
    expect(JSON.parse((await shell(two, list)).stdout).runs).toEqual([]);
  });
});

describe('a crowd in three containers on one volume', () => {
  const { run, image } = inject('e2e');
  const PREFIX = `${run}-work-`;
  const VOLUME = `${PREFIX}volume`;
  const docker = engineOf('docker');
  const FULL = process.env.WORK_FULL === '1';
  const [PROCESSES, MILLISECONDS] = FULL ? [[17, 17, 16], 60_000] : [[2, 2, 2], 8_000];

  beforeAll(() => docker.command(['volume', 'create', VOLUME]));
  afterAll(() => sweep(docker, PREFIX));

  /** A program of ours beside the image's modules, in a container of its own. */
  async function inContainer(program: string, ...words: string[]): Promise<string> {
    const script = 'cat >/opt/pi-sandbox/program.mjs && exec node /opt/pi-sandbox/program.mjs "$@"';
    const options = [
      '--rm',
      '-i',
      '--init',
      '--network',
      'none',
      '-v',
      `${VOLUME}:/volume`,
      '--entrypoint',
      'sh',
    ];
    const child = spawn('docker', ['run', ...options, image, '-c', script, 'sh', ...words], {
      stdio: ['pipe', 'pipe', 'inherit'],
      timeout: MILLISECONDS + 120_000,
    });
    child.stdin.end(readFileSync(program));
    return text(child.stdout);
  }

  it(
    `W5, W6, W7: of ${PROCESSES.join(' + ')} processes none loses what it holds, and the last prune leaves what it should`,
    async () => {
      const [crowd, checker] = ['crowd', 'checker'].map((name) =>
        builtProgram(`test/faults/work/${name}.ts`),
      );
      const seed = process.env.WORK_SEED ?? 'ci';
      await Promise.all(
        PROCESSES.map((count, at) =>
          inContainer(
            crowd ?? '',
            'drive',
            '/volume/work',
            '/volume/journals',
            `${seed}-${at}`,
            String(count),
            String(MILLISECONDS),
          ),
        ),
      );
      expect(JSON.parse(await inContainer(crowd ?? '', 'finish', '/volume/work'))).toEqual({
        problems: [],
        cut: false,
      });
      const found = JSON.parse(
        await inContainer(
          checker ?? '',
          'check',
          '/volume/work',
          '/volume/journals',
          '3',
          String(256 * 1024),
        ),
      );
      process.stderr.write(`crowd: ${found.acquired} runs acquired, ${found.present} left\n`);
      expect(found.wrong).toEqual([]);
      expect(found.acquired).toBeGreaterThan(10);
    },
    MILLISECONDS + 300_000,
  );
});
