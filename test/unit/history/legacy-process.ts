/** A migration as a process of its own, which can be made to die between any two steps: `KILL_AT` counts them. */
import { migrateLegacy } from '../../../src/history/index.ts';

const options = JSON.parse(process.argv[2] ?? '{}');
const killAt = Number(process.env.KILL_AT ?? 0);
let step = 0;

const report = await migrateLegacy({
  ...options,
  between: () => {
    step += 1;
    if (step === killAt) process.kill(process.pid, 'SIGKILL');
  },
});
process.stdout.write(`${JSON.stringify({ report, steps: step })}\n`);
