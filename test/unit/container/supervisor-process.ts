/** The real supervisor in a process of its own, with a test's roots and times: argument 1 is JSON. */
import { Socket } from 'node:net';
import { runSupervisor } from '../../../src/container/run-supervisor.ts';
import { systemClock } from '../../../src/lib/clock.ts';

const options = JSON.parse(process.argv[2] ?? '');
await runSupervisor({
  ...options,
  clock: systemClock,
  first: {
    input: new Socket({ fd: 0, readable: true, writable: false }),
    output: new Socket({ fd: 1, readable: false, writable: true }),
  },
});
process.exit(0);
