/**
 * A program that speaks RPC as pi does and starts at once. It takes 20 to 120 ms for a prompt, adds a line to `work.txt` where it works, and then writes the
 * name of its job into a list of what was done: so it can be told how often each step was. What is said goes into the
 * conversation's file.
 */
import { writeFileSync } from 'node:fs';
import { scriptedPi } from '../../setup/fake-pi.ts';
import { writeLauncher } from '../jobs/stand-in.ts';

function scriptFor(done: string): string {
  return `
  const fs = require('node:fs');
  const path = require('node:path');
  const file = process.argv[process.argv.indexOf('--session') + 1];
  const job = path.basename(process.env.MULTI_AGENT_JOB);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const note = (role, text) =>
    fs.appendFileSync(file, JSON.stringify({ type: 'message', message: { role, content: [{ type: 'text', text }] } }) + '\\n');
  let timer;
  on({
    prompt(request) {
      answer(request, { disposition: 'started' });
      note('user', request.message);
      timer = setTimeout(() => {
        fs.appendFileSync('work.txt', job + '\\n');
        fs.appendFileSync(${JSON.stringify(done)}, job + '\\n');
        note('assistant', 'did ' + job);
        settle('did ' + job);
      }, 20 + Math.random() * 100);
    },
    abort(request) {
      clearTimeout(timer);
      answer(request);
      say({ type: 'message_end', message: { role: 'assistant', content: [], stopReason: 'aborted' } });
      say({ type: 'agent_end', willRetry: false });
      say({ type: 'agent_settled', aborted: true });
    },
  });
`;
}

/** Writes it as the command `pi` that lies in `command`; `done` is the list. */
export function writeRunStandIn(command: string, done: string): void {
  const [, script = ''] = scriptedPi(scriptFor(done));
  writeFileSync(`${command}.cjs`, script);
  writeLauncher(command, `${command}.cjs`);
}
