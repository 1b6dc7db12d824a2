/** A process that tries to take a run over (R6): directory of the run, its root, its Session. Says what came of it. */
import { dirname } from 'node:path';
import { systemClock } from '../../../src/lib/clock.ts';
import { messageOf } from '../../../src/lib/errors.ts';
import { RunError, runsPlace, takeOwnership } from '../../../src/runs/index.ts';

const [, , directory = '', session = ''] = process.argv;
const place = runsPlace({ PI_MULTIAGENT_STATE_DIR: dirname(directory) }, '/');
const deps = { clock: systemClock, identity: { pid: process.pid, host: 'here', uid: 1000 } };
takeOwnership(place, directory, { session, operator: false }, deps).then(
  ({ lock }) => {
    lock.release();
    process.stdout.write('taken');
  },
  (error: unknown) => process.stdout.write(error instanceof RunError ? error.code : messageOf(error)),
);
