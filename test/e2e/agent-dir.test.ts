/** The agent directory of real sandboxes: where it is, what is moved in the shared volume, and what the user is known by. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';
import { sandboxOf } from '../setup/look.ts';
import { type ModelServer, modelServer } from '../setup/model-server.ts';

let here: Installation;
let model: ModelServer;
let project: string;
let other: string;

beforeAll(async () => {
  [here, model] = await Promise.all([installation(), modelServer()]);
  here.configure('.env', 'DOMAINS=work,private\nDEFAULT_DOMAIN=work\n');
  here.configure('config/models.json', model.models);
  here.configure('config/settings.json', model.settings);
  project = here.project();
  other = here.project();
  // The volumes of both domains.
  await shell('true');
  await shell('true', other, ['--domain', 'private']);
  await here.run(['stop', '--all']);
});

afterEach(async () => {
  await here.run(['stop', '--all']);
});

afterAll(async () => {
  await here.cleanup();
  await model.stop();
  expect(await here.leftovers()).toEqual([]);
});

const shell = (script: string, where = project, options: readonly string[] = []) =>
  here.run(['shell', ...options, where, '--', 'sh', '-c', script]);

/** A sandbox that stays until what is returned is called, or everything is stopped. */
async function keepRunning(where: string, options: readonly string[] = []): Promise<() => void> {
  const command = here.start(['shell', ...options, where, '--', 'cat']);
  // A join comes back when the sandbox is up.
  await shell('true', where, options);
  return () => command.stdin.end();
}

/** A script as the sandboxes' user in the shared volume's agent directory, without the code under test. */
const inShared = (script: string) =>
  here.engine.command([
    ...[
      'run',
      '--rm',
      '--user',
      `${here.owner.uid}:${here.owner.gid}`,
      '--network',
      'none',
      '--entrypoint',
      'sh',
    ],
    ...['--mount', `type=volume,source=${here.prefix}pi-agent-state,target=/volume,volume-nocopy`],
    ...[here.image, '-c', `cd /volume/.pi/agent; ${script}`],
  ]);

describe('W1: where the agent directory and the work root are', () => {
  const WORK = '/home/pi/.pi/domain/agent/work';

  it('W1: PI_WORK_ROOT is everywhere, resolved, also in what pi and the engine start', async () => {
    const print = 'echo "$PI_WORK_ROOT"; realpath "$PI_CODING_AGENT_DIR/work"';
    expect((await shell(print)).stdout).toBe(`${WORK}\n${WORK}\n`);
    model.callBash('where is work', print, 'Done.');
    await here.run(['start', project, '--', '-p', 'where is work']);
    expect(JSON.stringify(model.requests().at(-1))).toContain(`${WORK}\\n${WORK}`);
    const end = await keepRunning(project);
    const name = await sandboxOf(here, project);
    expect(await here.engine.command(['exec', name, 'sh', '-c', 'echo "$PI_WORK_ROOT"'])).toBe(WORK);
    end();
  });

  it('W1: PI_ADAPTATIVE_CODING_AGENT_DIR reaches pi, and its children learn where work lies then', async () => {
    model.callBash('where am I', 'echo "$PI_CODING_AGENT_DIR $PI_WORK_ROOT"', 'Done.');
    const elsewhere =
      'mkdir -p /tmp/else && cd "$PI_CODING_AGENT_DIR" && cp -L models.json settings.json /tmp/else/';
    const { exitCode } = await shell(
      `${elsewhere} && PI_ADAPTATIVE_CODING_AGENT_DIR=/tmp/else pi -p "where am I" </dev/null`,
    );
    expect(exitCode).toBe(0);
    expect(JSON.stringify(model.requests().at(-1))).toContain('/tmp/else /tmp/else/work');
  });
});

describe('W10: the layout of the shared volume', () => {
  const OLD = 'mkdir -p backups && echo old > backups/settings.json && echo mine > notes.txt';
  const found = () =>
    inShared('find . -name settings.json -o -name notes.txt | sort; rm -rf backups state notes.txt');

  it('W10: is migrated before the first program of a sandbox that is alone there', async () => {
    await inShared(OLD);
    const { stdout } = await shell('cat /run/pi-agent-state/.pi/agent/state/backups/config/settings.json');
    expect(stdout).toBe('old\n');
    await here.run(['stop', '--all']);
    expect((await found()).split('\n')).toEqual(['./notes.txt', './state/backups/config/settings.json']);
  });

  it('W10: waits while a sandbox of another domain is alive, and is done by hand in the only one', async () => {
    const end = await keepRunning(other, ['--domain', 'private']);
    await inShared(OLD);
    const busy = await shell('pi-work migrate');
    expect(busy.exitCode).toBe(1);
    expect(busy.stderr).toContain('a running sandbox works there');
    expect((await shell('pi-work migrate --trust-in-state')).exitCode).toBe(2);
    await here.run(['stop', '--all']);
    end();
    expect((await found()).split('\n')).toContain('./backups/settings.json');
    // A start that is alone would do it by itself: so the old layout comes when this sandbox is there already.
    const endAlone = await keepRunning(project);
    await inShared(OLD);
    const alone = await shell('pi-work migrate');
    expect(alone).toMatchObject({ exitCode: 0, stdout: 'moved backups -> state/backups/config\n' });
    endAlone();
    await here.run(['stop', '--all']);
    expect((await found()).split('\n')).toContain('./state/backups/config/settings.json');
  });
});

describe('W12: doctor of a project', () => {
  const rows = async (): Promise<{ exitCode: number | undefined; details: string[] }> => {
    const { exitCode, stdout } = await here.run(['doctor', project, '--json']);
    const { checks } = JSON.parse(stdout);
    const own = checks.filter(({ check }: { check: string }) => check === 'agent directory');
    return {
      exitCode,
      details: own.map(({ result, detail }: { result: string; detail: string }) => `${result}: ${detail}`),
    };
  };

  it('W12: names what does not belong in the volumes, with the sandbox and without, and changes nothing', async () => {
    expect((await rows()).details).toEqual(['ok: nothing that does not belong there']);
    await shell(
      'echo 1234 > /run/pi-agent-state/.pi/agent/report.txt; echo x > /home/pi/.pi/domain/agent/own.txt',
    );
    const running = await rows();
    expect(running.exitCode).toBe(1);
    await here.run(['stop', '--all']);
    const stopped = await rows();
    for (const { details } of [running, stopped]) {
      expect(details).toEqual([
        expect.stringMatching(/^warning: the shared volume: report\.txt, 5 B, /),
        expect.stringMatching(/^warning: the domain volume: own\.txt, 2 B, /),
      ]);
    }
    const doctor = await shell('pi-work doctor; echo $?');
    expect(doctor.stdout).toMatch(/report\.txt: 5 B.*[\s\S]*own\.txt: 2 B.*\n1\n$/);
    expect(await inShared('cat report.txt; rm report.txt')).toBe('1234');
    await shell('rm /home/pi/.pi/domain/agent/own.txt');
  });
});

describe('W11: what pi knows about the user', () => {
  it('W11: two sandboxes of a domain write one profile, and the next pi is told of it', async () => {
    const write = (name: string) =>
      `for n in 1 2 3 4 5 6; do pi-work memory add "fact $n of ${name}" || exit 1; done`;
    const [one, two] = await Promise.all([shell(write('one')), shell(write('two'), other)]);
    expect([one.exitCode, two.exitCode]).toEqual([0, 0]);
    const facts = ['one', 'two'].flatMap((name) => [1, 2, 3, 4, 5, 6].map((n) => `- fact ${n} of ${name}`));
    const shown = await shell('pi-work memory show');
    expect(shown.stdout.trim().split('\n').sort()).toEqual(facts.sort());
    model.say('who am I', 'You.');
    await here.run(['start', other, '--', '-p', 'who am I']);
    const asked = JSON.stringify(model.requests().at(-1));
    for (const fact of facts) expect(asked).toContain(fact);
    // Another domain knows nothing of it.
    await here.run(['start', '--domain', 'private', other, '--', '-p', 'who am I']);
    expect(JSON.stringify(model.requests().at(-1))).not.toContain('fact 1');
  });
});
