/**
 * Stands for a pi that has one Session open while others prune: it holds the kernel lock and appends one entry after
 * the other through the lock extension's own gate, the way pi's appends go. Arguments: lock directory, file, id.
 * Prints each entry's word once it is written; ends when its input does.
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { makeGate } from '../../../src/agent/extensions/lock/guard.ts';
import type { Registry } from '../../../src/agent/extensions/lock/registry.ts';
import { trySessionLock } from '../../../src/pi/index.ts';

const [locks = '', file = '', id = ''] = process.argv.slice(2);
const target = { id, file };
const whole = readFileSync(file, 'utf8')
  .split('\n')
  .filter((line) => line !== '');
const startedAt = new Date().toISOString();
const taken = trySessionLock(locks, target, { pid: process.pid, host: 'faults', startedAt });
if (!('lock' in taken)) throw new Error('the Session is taken');
const registry: Registry = {
  sessions: new Set([{ target, lock: taken.lock, state: 'open' }]),
  starting: false,
  gate: undefined,
  suspendDisabled: false,
};
const gate = makeGate(registry, {
  takeForOneWrite: () => undefined,
  say: (text) => void process.stderr.write(`${text}\n`),
  describeHolder: () => 'open',
  cameBack: () => undefined,
});
process.stdout.write('ready\n');
let running = true;
process.stdin
  .on('end', () => {
    running = false;
  })
  .resume();
for (let number = 0; running; number++) {
  const word = `appended-${process.pid}-${number}`;
  const line = JSON.stringify({
    type: 'custom',
    id: word,
    parentId: null,
    timestamp: '2000-01-01T00:00:00.000Z',
  });
  whole.push(line);
  gate(
    target,
    () => appendFileSync(file, `${line}\n`),
    () => writeFileSync(file, `${whole.join('\n')}\n`),
  );
  process.stdout.write(`${word}\n`);
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
}
taken.lock.release();
