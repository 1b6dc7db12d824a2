import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';
import { sandboxes } from '../setup/look.ts';
import { type ModelServer, modelServer } from '../setup/model-server.ts';

/** One sandbox serves the whole file: what differs between these starts is pi's own arguments. */
let here: Installation;
let model: ModelServer;
let project: string;

beforeAll(async () => {
  [here, model] = await Promise.all([installation(), modelServer()]);
  here.configure('config/models.json', model.models);
  here.configure('config/settings.json', model.settings);
  project = here.project();
});

afterAll(async () => {
  await here.cleanup();
  await model.stop();
  expect(await here.leftovers()).toEqual([]);
});

describe('S14: a start without a terminal runs pi and ends with it', () => {
  it('S14, S23: cold, with the demo model, the answer is on stdout and nothing else anywhere', async () => {
    const result = await here.run(['start', '--demo', project, '--', '-p', 'run echo hello from inside']);
    expect(result).toMatchObject({ exitCode: 0, stderr: '' });
    expect(result.stdout).toContain('hello from inside');
  });

  it('S14: warm, it joins the same sandbox', async () => {
    const before = await sandboxes(here, project);
    const result = await here.run(['start', '--demo', project, '--', '-p', 'run hostname']);
    expect(result.exitCode).toBe(0);
    expect(await sandboxes(here, project)).toEqual(before);
  });

  it('S14: without a project the current directory is the project', async () => {
    const result = await here.run(['start', '--demo', '--', '-p', 'run pwd'], { cwd: project });
    expect(result.stdout).toContain(project);
  });

  it('S14: a model’s tool call runs in the sandbox, and its file belongs to the project’s owner', async () => {
    model.callBash('make a file', 'echo made > made.txt; id -un', 'Done.');
    const result = await here.run(['start', project, '--', '-p', 'make a file']);
    expect(result).toMatchObject({ exitCode: 0, stdout: 'Done.\n', stderr: '' });
    expect(readFileSync(join(project, 'made.txt'), 'utf8')).toBe('made\n');
    expect(statSync(join(project, 'made.txt')).uid).toBe(statSync(project).uid);
    expect(statSync(join(project, 'made.txt')).mode & 0o777).toBe(0o644);
    expect(JSON.stringify(model.requests().at(-1))).toContain('pi\\n');
  });

  it('S14: the answer is byte for byte what pi prints', async () => {
    const text =
      'tabs\tand "quotes", \u00e9\u4e2d\u{1f600}\u{1f468}\u200d\u{1f469}\u200d\u{1f467}, \u2028 and \\n';
    model.say('say it exactly', text);
    const result = await here.run(['start', project, '--', '-p', 'say it exactly']);
    expect(result).toEqual({ exitCode: 0, signal: undefined, stdout: `${text}\n`, stderr: '' });
  });

  it('S14: a failure of the model is pi’s exit code 1 with its message on stderr', async () => {
    model.fail('break please', 400, 'this model is broken');
    const result = await here.run(['start', project, '--', '-p', 'break please']);
    expect(result).toMatchObject({ exitCode: 1, stdout: '' });
    expect(result.stderr).toContain('this model is broken');
  });

  it('S14: an option that pi does not know is pi’s own error', async () => {
    const result = await here.run(['start', project, '--', '-p', '--no-such-option', 'hi']);
    expect(result.exitCode).toBe(1);
    expect(result.stderr).toContain('--no-such-option');
  });

  it('S14: arguments reach pi as they are', async () => {
    const prompt = 'an "argument" with $HOME, `ticks`, \\ and a\nnew line';
    model.say('an "argument"', 'Heard.');
    await here.run(['start', project, '--', '-p', prompt]);
    expect(JSON.stringify(model.requests().at(-1))).toContain(JSON.stringify(prompt).slice(1, -1));
  });

  it('S14: standard input passes through', async () => {
    model.say('piped words', 'Heard.');
    const result = await here.run(['start', project, '--', '-p', ' and an argument'], {
      input: 'piped words',
    });
    expect(result).toMatchObject({ exitCode: 0, stdout: 'Heard.\n' });
    expect(JSON.stringify(model.requests().at(-1))).toContain('piped words and an argument');
  });

  it('S14: piped standard input alone is a start without a terminal', async () => {
    model.say('only piped', 'Heard.');
    const result = await here.run(['start', project], { input: 'only piped' });
    expect(result).toMatchObject({ exitCode: 0, stdout: 'Heard.\n' });
  });

  it('S14: JSON mode begins with the Session’s header and every line is JSON', async () => {
    model.say('in json', 'Heard.');
    const result = await here.run(['start', project, '--', '--mode', 'json', 'in json']);
    expect(result.exitCode).toBe(0);
    const lines = result.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines[0]).toMatchObject({ type: 'session', cwd: project });
    expect(lines.at(-1)).toMatchObject({ type: 'agent_settled' });
  });

  it('S14: RPC mode answers request by request until its input ends', async () => {
    const child = here.start(['start', project, '--', '--mode', 'rpc']);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    child.stdin.write('{"type":"get_state","id":"1"}\n');
    const first = JSON.parse(String((await lines.next()).value));
    expect(first).toMatchObject({
      type: 'response',
      id: '1',
      success: true,
      data: { model: { id: 'fake-1' } },
    });
    child.stdin.write('{"type":"bash","id":"2","command":"echo $((6 * 7))"}\n');
    const answers: unknown[] = [];
    for (let line = await lines.next(); !line.done; line = await lines.next()) {
      const answer = JSON.parse(line.value);
      answers.push(answer);
      if (answer.id === '2' && answer.type === 'response') break;
    }
    expect(JSON.stringify(answers)).toContain('42');
    child.stdin.end();
    expect(await once(child, 'close')).toEqual([0, null]);
  });

  it('S14: the next start goes on with the last Session', async () => {
    model.say('the first thing', 'First.');
    model.say('the second thing', 'Second.');
    await here.run(['start', project, '--', '-p', 'the first thing']);
    const result = await here.run(['start', project, '--', '-c', '-p', 'the second thing']);
    expect(result.stdout).toBe('Second.\n');
    expect(JSON.stringify(model.requests().at(-1))).toContain('the first thing');
  });

  it('S14: --env sets a variable for this program, with a value or with the current one', async () => {
    const args = ['start', '--demo', '-e', 'GIVEN=a=b c', '--env', 'TAKEN', '-e', 'ABSENT', project];
    const prompt = 'run echo "$GIVEN|$TAKEN|$(env | grep -c ABSENT=)"';
    const result = await here.run([...args, '--', '-p', prompt], { env: { TAKEN: 'from here' } });
    expect(result.stdout).toContain('a=b c|from here|0');
  });
});
