/**
 * A program that speaks RPC as pi does and starts at once, so that hundreds of jobs can be tried. A prompt is
 * `<word> <milliseconds> [tool] [stubborn]`: so long it works; `tool` leaves a process in a session of its own behind, and a stubborn
 * one ends only by force. What is said goes into the conversation's file, a line each.
 */
import { writeFileSync } from 'node:fs';
import { scriptedPi } from '../../setup/fake-pi.ts';

const SCRIPT = `
  const fs = require('node:fs');
  const file = process.argv[process.argv.indexOf('--session') + 1];
  fs.mkdirSync(require('node:path').dirname(file), { recursive: true });
  const note = (role, text) =>
    fs.appendFileSync(file, JSON.stringify({ type: 'message', message: { role, content: [{ type: 'text', text }] } }) + '\\n');
  let timer;
  on({
    prompt(request) {
      answer(request, { disposition: 'started' });
      note('user', request.message);
      const [, ms, ...others] = request.message.split(' ');
      if (others.includes('tool'))
        require('node:child_process').spawn('sleep', ['120'], { detached: true, stdio: 'ignore' }).unref();
      if (others.includes('stubborn')) {
        process.on('SIGTERM', () => {});
        process.exit = () => setInterval(() => {}, 1_000);
      }
      timer = setTimeout(() => {
        const text = 'did ' + request.message;
        note('assistant', text);
        settle(text);
      }, Number(ms));
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

/** Writes it as the command `pi` that lies in `path`. */
export function writeStandIn(path: string): void {
  const [, script = ''] = scriptedPi(SCRIPT);
  writeFileSync(`${path}.cjs`, script);
  writeLauncher(path, `${path}.cjs`);
}

/** As the sandbox's own launcher, a script that becomes pi. What breaks our programs is not for pi. */
export function writeLauncher(path: string, program: string): void {
  const script = `#!/bin/sh\nunset NODE_OPTIONS JOB_FAULT\nexec "${process.execPath}" "${program}" "$@"\n`;
  writeFileSync(path, script, { mode: 0o755 });
}
