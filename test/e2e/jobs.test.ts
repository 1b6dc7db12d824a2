/** Background agents in a real sandbox, from the user's terminal: the story that the room was built for. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { ENGINES, readyEngine, type TestEngine } from '../setup/engines.ts';
import { type Installation, installation } from '../setup/installation.ts';
import { eventually, processesOf, sandboxes, sandboxOf } from '../setup/look.ts';
import { type ModelServer, modelServer } from '../setup/model-server.ts';
import { type TestTerminal, terminal } from '../setup/terminal.ts';

const SETTINGS = { quietStartup: true, defaultProjectTrust: 'never', tuiMode: 'regular' };
const LONG = { timeout: 240_000 };

let here: Installation;
let model: ModelServer;
let open: TestTerminal[] = [];

beforeAll(async () => {
  here = await installation();
  model = await modelServer();
  configure(here);
});

function configure(installed: Installation): void {
  installed.configure('config/models.json', model.models);
  installed.configure('config/settings.json', JSON.stringify({ ...JSON.parse(model.settings), ...SETTINGS }));
}

afterEach(() => {
  for (const each of open) each.kill();
  open = [];
});

afterAll(async () => {
  await here.cleanup();
  await model.stop();
  expect(await here.leftovers()).toEqual([]);
});

function pi(project: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): TestTerminal {
  return inTerminal(['start', project, ...args], env);
}

function inTerminal(words: readonly string[], env: NodeJS.ProcessEnv = {}): TestTerminal {
  const window = terminal(process.execPath, [here.cli, ...words], {
    env: { ...here.env, ...env },
    cwd: here.directory,
    columns: 110,
    rows: 40,
  });
  open.push(window);
  return window;
}

/** Types a prompt and waits for what comes of it; on a slow machine pi is not ready yet and keeps the text. */
async function says(window: TestTerminal, prompt: string, answer: string): Promise<void> {
  window.type(prompt);
  for (let tries = 0; tries < 30; tries++) {
    window.type('\r');
    const came = await window.shows(answer, 2_000).catch(() => undefined);
    if (came !== undefined || !window.screen().includes('Startup is still in progress')) break;
  }
  await window.shows(answer, 60_000);
}

/** A bash call that waits until the test lets it go on. */
const until = (name: string): string => `until [ -e go-${name} ]; do sleep 0.1; done`;
const letGo = (project: string, name: string): void => writeFileSync(join(project, `go-${name}`), '');

/** Answers a prompt once with calls of the tool, and what they returned with a text. */
function callsAgents(prompt: string, calls: readonly object[], text: string): void {
  let asked = false;
  model.answer(prompt, () => {
    if (asked) return { content: text };
    asked = true;
    return {
      toolCalls: calls.map((parameters, at) => ({
        id: `call_${at}`,
        name: 'multi_agent',
        arguments: JSON.stringify(parameters),
      })),
    };
  });
}

/** Moves the mark of `/jobs` to a job. */
async function choose(window: TestTerminal, name: string): Promise<void> {
  for (let tries = 0; tries < 8; tries++) {
    if (window.screen().includes(`› ${name} `)) return;
    const before = window.screen().match(/› (\S+)/)?.[1] ?? '';
    window.type('j');
    await window.shows(new RegExp(`› (?!${before} )`));
  }
  throw new Error(`${name} is not in the list:\n${window.screen()}`);
}

async function listed(project: string): Promise<Record<string, string>> {
  const { stdout, stderr, exitCode } = await here.run(['jobs', project, 'list', '--json']);
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  const { jobs } = JSON.parse(stdout);
  return Object.fromEntries(jobs.map(({ name, status }: Record<string, string>) => [name, status]));
}

describe('J12: background agents of a sandboxed pi', () => {
  it(
    'J6, J12, J13: four reviews side by side: watched, one steered, one aborted, the terminal closed; then all is told as it is, and goes on',
    LONG,
    async () => {
      const project = here.project();
      const modules = ['one', 'two', 'three', 'four'];
      callsAgents(
        'review these four modules in parallel',
        modules.map((name) => ({
          action: 'start',
          name: `review-${name}`,
          prompt: `Look at module ${name}`,
        })),
        'Four reviews are running.',
      );
      for (const name of modules) {
        model.callBash(`Look at module ${name}`, until(name), `Module ${name} is fine.`);
      }
      model.say('and at its tests', 'Module two and its tests are fine.');
      model.say('Job "review-', 'I have read it.');
      model.say('go on with it', 'Module three is fine after all.');

      const window = pi(project, [], { PI_SANDBOX_IDLE_STOP_MINUTES: '0.05' });
      await window.shows('fake-1');
      await says(window, 'review these four modules in parallel', 'Four reviews are running.');

      window.type('/jobs\r');
      for (const name of modules)
        await window.shows(new RegExp(`review-${name} +running .*bash: until`), 60_000);
      await choose(window, 'review-two');
      window.type('s');
      await window.shows('Steer review-two');
      window.type('and at its tests\r');
      await window.shows('› review-two');
      await choose(window, 'review-three');
      window.type('a');
      await window.shows('Abort review-three?');
      window.type('\r');
      await window.shows(/review-three +aborted/, 30_000);
      letGo(project, 'one');
      letGo(project, 'two');
      await window.shows(/review-one +done/, 30_000);
      await window.shows(/review-two +done/, 30_000);
      window.type('\u001b');
      await window.shows('I have read it.', 30_000);

      // The laptop is closed. What still works keeps its sandbox, which ends by itself afterwards.
      window.kill('SIGHUP');
      await window.exited();
      const sandbox = await sandboxOf(here, project);
      let living: { kind: string; name?: string }[] = [];
      await eventually('only the job lives there', async () => {
        const { stdout } = await here.run(['ps', '--json']);
        const row = JSON.parse(stdout).sandboxes.find((each: { name: string }) => each.name === sandbox);
        living = row.status.living;
        return living.length === 1;
      }).catch(() => undefined);
      expect(living).toMatchObject([{ kind: 'job', name: 'review-four' }]);
      letGo(project, 'four');
      await eventually('the idle stop', async () => (await sandboxes(here, project)).length === 0, 40_000);

      expect(await listed(project)).toEqual({
        'review-one': 'done',
        'review-two': 'done',
        'review-three': 'aborted',
        'review-four': 'done',
      });
      const output = await here.run(['jobs', project, 'output', 'review-two']);
      expect(output).toMatchObject({ exitCode: 0, stdout: 'Module two and its tests are fine.\n' });
      const resumed = await here.run(['jobs', project, 'resume', 'review-three', 'go on with it', '--wait']);
      expect(resumed).toMatchObject({ exitCode: 0, stdout: 'Module three is fine after all.\n' });
      expect(await listed(project)).toMatchObject({ 'review-three': 'done' });

      const told = await here.run(['jobs', project, 'status', 'review-three']);
      expect(told.stdout).toContain(`session_cmd: pi-sandbox jobs ${project} open review-three\n`);

      const opened = inTerminal(['jobs', project, 'open', 'review-two']);
      await opened.shows('Module two and its tests are fine.', 60_000);
      opened.type('\u0004');
      expect(await opened.exited()).toBe(0);

      // The Session is told what it missed, once.
      const again = pi(project, ['--', '-c']);
      const screen = await again.shows('Job "review-four": done', 60_000);
      expect(screen).toContain('Module four is fine.');
      expect(again.bytes().toString()).not.toMatch(/Job "review-two": done.*Job "review-two": done/s);
    },
  );

  it('J8, J16: the limits of the configuration reach every program of a sandbox', async () => {
    const project = here.project();
    here.configure('.env', 'MULTI_AGENT_MAX_RUNNING=3\nDOMAIN_DEFAULT_MAX_COST=1.5\n');
    try {
      const { stdout } = await here.run(['shell', project, '--', 'env']);
      expect(stdout).toContain('MULTI_AGENT_MAX_RUNNING=3\n');
      expect(stdout).toContain('MULTI_AGENT_DAY_MAX_COST=1.5\n');
      expect(stdout).toContain(`PI_SANDBOX_PROJECT=${project}\n`);
    } finally {
      here.configure('.env', '');
    }
  });

  it('J6: wrong words are multi-agent’s to refuse, and their exit code comes through', async () => {
    const project = here.project();
    const refused = await here.run(['jobs', project, 'nonsense']);
    expect(refused).toMatchObject({ exitCode: 2, stdout: '' });
    expect(refused.stderr).toContain('multi-agent');
    const none = await here.run(['jobs', project]);
    expect(none).toMatchObject({ exitCode: 2, stdout: '' });
    expect(none.stderr).toContain('pi-sandbox jobs');
  });
});

describe.each(ENGINES)('J4: processes of a job in a sandbox, on %s', (kind) => {
  it('J4: when it has ended nothing of it is left, and what is not its own goes on', LONG, async () => {
    const there = kind === 'docker' ? here : await onEngine(kind);
    try {
      const project = there.project();
      const leave = 'setsid sleep 4711 >/dev/null 2>&1 & (sleep 4712 >/dev/null 2>&1 &) ; true';
      model.callBash('leave something behind', leave, 'I have left something.');
      const other = there.start(['shell', project, '--', 'sh', '-c', 'echo there; exec sleep 4713']);
      await new Promise((resolve) => other.stdout.once('data', resolve));
      const ran = await there.run(['jobs', project, 'run', 'leave something behind']);
      expect(ran).toMatchObject({ exitCode: 0, stdout: 'I have left something.\n' });
      const processes = (await processesOf(there, await sandboxOf(there, project))).join('\n');
      expect(processes).not.toMatch(/sleep 471[12]|multi-agent|--mode rpc/);
      expect(processes).toContain('sleep 4713');
      other.kill();
    } finally {
      if (there !== here) await there.cleanup();
    }
  });
});

async function onEngine(kind: TestEngine['kind']): Promise<Installation> {
  const engine = await readyEngine(kind, { directory: here.directory, image: inject('e2e').image });
  const there = await installation(engine);
  configure(there);
  return there;
}
