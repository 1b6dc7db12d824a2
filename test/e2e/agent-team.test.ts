/** A graph of agents in a real sandbox, started by the model: its worktree in the domain's volume, seen from the host (R4, R5). */
import { execFileSync } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';
import { type ModelServer, modelServer } from '../setup/model-server.ts';
import { type TestTerminal, terminal } from '../setup/terminal.ts';

const SETTINGS = { quietStartup: true, defaultProjectTrust: 'never', tuiMode: 'regular' };
const LONG = { timeout: 240_000 };
const COMMIT = 'git -c user.name=A -c user.email=a@example.org commit -qam done';

let here: Installation;
let model: ModelServer;
let window: TestTerminal | undefined;

beforeAll(async () => {
  here = await installation();
  model = await modelServer();
  here.configure('config/models.json', model.models);
  here.configure('config/settings.json', JSON.stringify({ ...JSON.parse(model.settings), ...SETTINGS }));
});

afterAll(async () => {
  window?.kill();
  await here.cleanup();
  await model.stop();
  expect(await here.leftovers()).toEqual([]);
});

function calls(prompt: string, parameters: object, text: string): void {
  let asked = false;
  model.answer(prompt, () => {
    if (asked) return { content: text };
    asked = true;
    return {
      toolCalls: [{ id: 'call_1', name: 'agent_team', arguments: JSON.stringify(parameters) }],
    };
  });
}

/** Types a prompt and waits for what comes of it; on a slow machine pi is not ready yet and keeps the text. */
async function says(pi: TestTerminal, prompt: string, answer: string): Promise<void> {
  pi.type(prompt);
  for (let tries = 0; tries < 30; tries++) {
    pi.type('\r');
    const came = await pi.shows(answer, 2_000).catch(() => undefined);
    if (came !== undefined || !pi.screen().includes('Startup is still in progress')) break;
  }
  await pi.shows(answer, 60_000);
}

describe('the tool agent_team in a sandbox', () => {
  it(
    'R4, R5: a step works in a worktree that the host’s git keeps, and nothing of it is lost',
    LONG,
    async () => {
      const project = here.project();
      // As the user whose project it is: git trusts nobody else's.
      const { uid, gid } = statSync(project);
      const git = (...words: string[]): string =>
        execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.org', ...words], {
          cwd: project,
          uid,
          gid,
          env: { PATH: process.env.PATH, HOME: project },
          encoding: 'utf8',
        });
      writeFileSync(join(project, 'readme.txt'), 'one\n');
      git('init', '-q', '-b', 'main');
      git('add', '.');
      git('commit', '-q', '-m', 'begin');
      const graph = {
        objective: 'write two',
        steps: [
          { id: 'implement', prompt: 'implement it', worktree: true },
          { id: 'review', prompt: 'review this: ${steps.implement.diff}', needs: ['implement'] },
        ],
      };
      calls('start the graph', { action: 'start', graph }, 'It is running.');
      model.callBash('implement it', `echo two >> readme.txt && ${COMMIT}`, 'implemented');
      model.say('review this', 'the review');
      model.say('Run r1', 'I have read it.');
      calls('clean it up', { action: 'cleanup', run: 'r1' }, 'It was refused.');
      calls('clean it by force', { action: 'cleanup', run: 'r1', force: true }, 'It is gone.');

      window = terminal(process.execPath, [here.cli, 'start', project], {
        env: here.env,
        cwd: here.directory,
        columns: 110,
        rows: 40,
      });
      await window.shows('fake-1');
      await says(window, 'start the graph', 'It is running.');
      await window.shows('I have read it.', 60_000);

      const { stdout } = await here.run(['runs', project, 'list', '--json']);
      const [run] = JSON.parse(stdout).runs;
      expect(run).toMatchObject({ status: 'succeeded', pendingWorktrees: 1, stepsDone: 2 });
      const branch = `pi/${run.runId}/implement`;
      git('worktree', 'prune', '--expire', 'now');
      expect(git('worktree', 'list', '--porcelain')).toContain(
        `branch refs/heads/${branch}\nlocked ${run.runId}\n`,
      );
      expect(git('show', `${branch}:readme.txt`)).toBe('one\ntwo\n');
      expect(git('status', '--porcelain')).toBe('');

      await says(window, 'clean it up', 'It was refused.');
      const kept = await here.run(['runs', project, 'list', '--json']);
      expect(JSON.parse(kept.stdout).runs).toHaveLength(1);
      await says(window, 'clean it by force', 'It is gone.');
      expect(git('worktree', 'list').trim().split('\n')).toHaveLength(1);
      expect(git('show', `${branch}:readme.txt`)).toBe('one\ntwo\n');
      expect(JSON.parse((await here.run(['runs', project, 'list', '--json'])).stdout).runs).toEqual([]);
    },
  );
});
