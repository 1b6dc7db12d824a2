/** One container's trust keeper in a process of its own: arguments are the private and the shared file. */
import { TrustSync } from '../../../src/container/keeper/trust-sync.ts';

const [own = '', shared = ''] = process.argv.slice(2);
const sync = new TrustSync(own, shared, (problem) => process.stdout.write(`problem ${problem}\n`));
await sync.start();
process.stdout.write('ready\n');
process.stdin.once('data', async () => {
  await sync.stop();
  process.exit(0);
});
