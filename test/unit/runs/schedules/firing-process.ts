/**
 * `firing-process <state home> <now> <step> <fault>`: looks once at what is due, and is killed at a change to the file
 * system. An owner is a process that only holds the run's lock, and ends by itself after a while.
 */
import { spawn } from 'node:child_process';
import { runsPlace } from '../../../../src/runs/places.ts';
// Not the whole room: there is a process for every step.
import { fireDue } from '../../../../src/runs/schedules/fire-due.ts';
import { breakFileSystem, callsSoFar } from '../../../faults/history/broken-fs.ts';
import { handClock } from '../../../setup/hand-clock.ts';

const [state = '', now = '', at = '0', fault = 'kill'] = process.argv.slice(2);
const place = runsPlace({ XDG_STATE_HOME: state }, state);
const options = {
  clock: handClock(now),
  identity: { pid: process.pid, host: 'here', uid: process.getuid?.() ?? 0 },
  launch: async ({ lock }: { lock: { fd: number; leaveToChild(): void } }): Promise<void> => {
    const owner = spawn('sleep', ['30'], { detached: true, stdio: ['ignore', 'ignore', 'ignore', lock.fd] });
    owner.unref();
    lock.leaveToChild();
  },
};
// What is loaded lazily is no part of it.
await fireDue(place, { ...options, project: '/nowhere' });
await breakFileSystem({ at: Number(at), of: 'changes', fault: fault === 'ENOSPC' ? 'ENOSPC' : 'kill' });
await fireDue(place, options);
console.log(`calls ${callsSoFar()}`);
