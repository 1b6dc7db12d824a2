/** Graphs of agents in real sandboxes: the pains that the room was built to end, each as its user meets it. */
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, installation, type RunResult } from '../setup/installation.ts';
import { eventually, sandboxes, sandboxOf } from '../setup/look.ts';
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
  here.configure('config/models.json', model.models);
  here.configure('config/settings.json', JSON.stringify({ ...JSON.parse(model.settings), ...SETTINGS }));
});

afterEach(() => {
  for (const each of open) each.kill();
  open = [];
});

afterAll(async () => {
  await here.cleanup();
  await model.stop();
  expect(await here.leftovers()).toEqual([]);
});

interface Step {
  id: string;
  status: string;
  attempts: number;
}
interface Listed {
  runId: string;
  ownerClass: string;
  status: string;
  objective: string;
}

interface Reattached {
  manifest: { ownerSessionId: string | null };
  mirroredArtifacts: string[];
}
interface Asked {
  messages: { role: string; content: unknown }[];
}

function runs(project: string, ...words: string[]): Promise<RunResult> {
  return here.run(['runs', project, ...words]);
}

/** The document that a verb answers with. */
async function told<T = Record<string, unknown>>(project: string, ...words: string[]): Promise<T> {
  const { stdout, stderr } = await runs(project, ...words, '--json');
  try {
    return JSON.parse(stdout);
  } catch {
    throw new Error(`${words.join(' ')}: ${stdout}${stderr}`);
  }
}

async function started(project: string, graph: object): Promise<string> {
  writeFileSync(join(project, 'graph.json'), JSON.stringify(graph));
  const answer = await told(project, 'start', 'graph.json');
  expect(answer).toMatchObject({ ok: true });
  return String(answer.runId);
}

async function statuses(project: string, run: string): Promise<Record<string, string>> {
  const { steps } = await told<{ steps: Step[] }>(project, 'status', run);
  return Object.fromEntries(steps.map(({ id, status }) => [id, status]));
}

async function reached(project: string, run: string, expected: Record<string, string>): Promise<void> {
  let last: Record<string, string> = {};
  await eventually(
    `the steps to be ${JSON.stringify(expected)}`,
    async () => {
      last = await statuses(project, run);
      return Object.entries(expected).every(([step, status]) => last[step] === status);
    },
    90_000,
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}; they are ${JSON.stringify(last)}`);
  });
}

/** How often the model was asked with a prompt that holds this, without a tool's answer behind it. */
function asked(prompt: string): number {
  return model.requests().filter((body) => {
    const { messages } = body as Asked;
    const last = messages.at(-1);
    return last?.role === 'user' && JSON.stringify(last.content).includes(prompt);
  }).length;
}

/** A bash call that waits until the test lets it go on. */
const until = (name: string): string => `until [ -e go-${name} ]; do sleep 0.1; done`;
const letGo = (project: string, name: string): void => writeFileSync(join(project, `go-${name}`), '');

function inTerminal(words: readonly string[]): TestTerminal {
  const window = terminal(process.execPath, [here.cli, ...words], {
    env: here.env,
    cwd: here.directory,
    columns: 110,
    rows: 40,
  });
  open.push(window);
  return window;
}

async function says(window: TestTerminal, prompt: string, answer: string): Promise<void> {
  window.type(prompt);
  for (let tries = 0; tries < 30; tries++) {
    window.type('\r');
    const came = await window.shows(answer, 2_000).catch(() => undefined);
    if (came !== undefined || !window.screen().includes('Startup is still in progress')) break;
  }
  await window.shows(answer, 60_000);
}

/** Answers a prompt once with calls of the tool, and what they returned with a text. */
function callsTeam(prompt: string, calls: readonly object[], text: string): void {
  let done = false;
  model.answer(prompt, () => {
    if (done) return { content: text };
    done = true;
    return {
      toolCalls: calls.map((parameters, at) => ({
        id: `call_${at}`,
        name: 'agent_team',
        arguments: JSON.stringify(parameters),
      })),
    };
  });
}

/** What tools have answered the model, so far. */
function toolAnswers(): string[] {
  return model.requests().flatMap((body) => {
    const { messages } = body as Asked;
    return messages.filter(({ role }) => role === 'tool').map(({ content }) => JSON.stringify(content));
  });
}

describe('a graph outlives what ran it', () => {
  it(
    'R6, R7, R8: the sandbox is killed in the middle; what finished, what was in flight and what waits is told, and the graph is finished, each step once',
    LONG,
    async () => {
      const project = here.project();
      model.say('Plan the crash test', 'PLAN: build, then test.');
      model.callBash('Build by this plan', until('build'), 'BUILT');
      model.callBash('Test by this plan', until('test'), 'TESTED');
      model.say('You were interrupted', 'DONE AFTER ALL');
      model.say('Report on it all', 'REPORTED');
      const run = await started(project, {
        objective: 'survive a crash',
        steps: [
          { id: 'plan', prompt: 'Plan the crash test' },
          { id: 'build', prompt: 'Build by this plan: ${steps.plan.output}', needs: ['plan'] },
          { id: 'test', prompt: 'Test by this plan: ${steps.plan.output}', needs: ['plan'] },
          { id: 'report', prompt: 'Report on it all: ${steps.build.output}', needs: ['build', 'test'] },
        ],
      });
      await reached(project, run, { plan: 'succeeded', build: 'running', test: 'running' });
      await eventually('both to be asked', async () => asked('Build by') > 0 && asked('Test by') > 0);
      await here.engine.command(['kill', await sandboxOf(here, project)]);
      await eventually('its end', async () => (await sandboxes(here, project)).length === 0, 30_000);

      const [row] = (await told<{ runs: Listed[] }>(project, 'list')).runs;
      expect(row).toMatchObject({ runId: run, ownerClass: 'orphan', status: 'running' });
      expect(await statuses(project, run)).toEqual({
        plan: 'succeeded',
        build: 'running',
        test: 'running',
        report: 'pending',
      });
      const shown = await runs(project, 'show', run);
      for (const part of ['plan', 'succeeded', 'build', 'running', 'report', 'pending', 'orphan'])
        expect(shown.stdout).toContain(part);
      expect(await told(project, 'cancel', run)).toMatchObject({ ok: false, error: { code: 'orphan' } });

      letGo(project, 'build');
      letGo(project, 'test');
      expect(await told(project, 'take-ownership', run, '--continue')).toMatchObject({ ok: true });
      expect(await runs(project, 'wait', run)).toMatchObject({ exitCode: 0 });
      expect(await statuses(project, run)).toEqual({
        plan: 'succeeded',
        build: 'succeeded',
        test: 'succeeded',
        report: 'succeeded',
      });
      expect([asked('Plan the crash test'), asked('Report on it all')]).toEqual([1, 1]);
      const report = await runs(project, 'step-result', run, 'report');
      expect(report).toMatchObject({ exitCode: 0, stdout: 'REPORTED\n' });
    },
  );

  it(
    'R6, R8: a planner hands a run to a reviewer in another container of the domain, who sees all of it and cannot change it; afterwards there is a record',
    LONG,
    async () => {
      const [planning, reviewing] = [here.project(), here.project()];
      model.callBash('Draft the design', until('draft'), 'THE DESIGN');
      callsTeam(
        'start the team',
        [
          {
            action: 'start',
            graph: { objective: 'design it', steps: [{ id: 'draft', prompt: 'Draft the design' }] },
          },
        ],
        'The team works.',
      );
      const planner = inTerminal(['start', planning]);
      await planner.shows('fake-1');
      await says(planner, 'start the team', 'The team works.');
      const [row] = (await told<{ runs: Listed[] }>(planning, 'list')).runs;
      const run = row?.runId ?? '';
      // The operator sees it as another's: a Session has started it.
      expect(row).toMatchObject({ ownerClass: 'foreign-session', status: 'running', objective: 'design it' });

      callsTeam(
        'what does the other team do',
        [
          { action: 'list', all_projects: true },
          { action: 'reattach', run },
          { action: 'cancel', run },
        ],
        'I have seen it.',
      );
      const before = toolAnswers().length;
      const reviewer = inTerminal(['start', reviewing]);
      await reviewer.shows('fake-1');
      await says(reviewer, 'what does the other team do', 'I have seen it.');
      const answers = toolAnswers().slice(before).join('\n');
      expect(answers).toContain(run);
      expect(answers).toContain('foreign-session');
      expect(answers).toContain('owned-by-other');
      expect(await statuses(planning, run)).toEqual({ draft: 'running' });

      letGo(planning, 'draft');
      await reached(planning, run, { draft: 'succeeded' });
      for (const window of [planner, reviewer]) {
        window.type('\u0004');
        await window.exited();
      }
      expect(await here.run(['stop', planning])).toMatchObject({ exitCode: 0 });

      // The next day: who ran what, where, with which result.
      const record = await told<Reattached>(planning, 'reattach', run);
      expect(record).toMatchObject({
        ok: true,
        manifest: { runId: run, objective: 'design it', invocationCwd: planning, realProject: planning },
        status: { status: 'succeeded', terminal: true },
      });
      const { manifest, mirroredArtifacts } = record;
      expect(manifest.ownerSessionId).toMatch(/^[0-9a-f-]{36}$/);
      expect(mirroredArtifacts.map((path) => path.split('/').at(-1))).toEqual(['draft.output.md']);
      const events = await runs(planning, 'events', run);
      expect(events.stdout).toMatch(/draft.*running[\s\S]*draft.*succeeded[\s\S]*succeeded/);
    },
  );
});

describe('R5: worktrees in a sandbox', () => {
  it(
    'R5: plan, implement in a worktree, review its diff; the user’s git does not prune it, and a dirty one is not cleaned up',
    LONG,
    async () => {
      const project = here.project();
      // As the project's own user, whoever runs the tests.
      const git = (...words: string[]): string =>
        execFileSync('git', ['-C', project, ...words], {
          encoding: 'utf8',
          uid: here.owner.uid,
          gid: here.owner.gid,
          env: {
            PATH: process.env.PATH,
            HOME: project,
            GIT_AUTHOR_NAME: 'U',
            GIT_AUTHOR_EMAIL: 'u@example.org',
            GIT_COMMITTER_NAME: 'U',
            GIT_COMMITTER_EMAIL: 'u@example.org',
          },
        });
      git('init', '-q', '-b', 'main');
      writeFileSync(join(project, 'shop.txt'), 'old\n');
      git('add', '.');
      git('commit', '-qm', 'first');
      model.callBash('Implement it', 'echo new > shop.txt; echo more > added.txt; pwd', 'IMPLEMENTED');
      model.say('Review this diff', 'REVIEWED');
      const run = await started(project, {
        objective: 'change the shop',
        steps: [
          { id: 'implement', prompt: 'Implement it', worktree: true },
          { id: 'review', prompt: 'Review this diff: ${steps.implement.diff}', needs: ['implement'] },
        ],
      });
      expect(await runs(project, 'wait', run)).toMatchObject({ exitCode: 0 });
      expect(execFileSync('cat', [join(project, 'shop.txt')], { encoding: 'utf8' })).toBe('old\n');
      expect(existsSync(join(project, 'added.txt'))).toBe(false);
      const diff = await runs(project, 'step-result', run, 'implement', '--diff');
      expect(diff.stdout).toContain('+new');
      expect(diff.stdout).toContain('added.txt');
      expect(
        model.requests().some((body) => JSON.stringify(body).includes('Review this diff: diff --git')),
      ).toBe(true);

      git('worktree', 'prune');
      expect(git('worktree', 'list', '--porcelain')).toContain(`pi/${run}/implement`);

      const refused = await told(project, 'cleanup', run);
      expect(refused).toMatchObject({ ok: false, error: { code: 'worktree-dirty' } });
      expect(JSON.stringify(refused)).toContain('added.txt');
      expect(await told(project, 'cleanup', run, '--force')).toMatchObject({ ok: true });
      expect(git('worktree', 'list').trim().split('\n')).toHaveLength(1);
      expect((await told(project, 'list')).runs).toEqual([]);
    },
  );
});
