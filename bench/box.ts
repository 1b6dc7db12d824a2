/** A container for rows whose both sides run inside it, so that the engine's own time is in neither. */
import { run } from './commands.ts';
import type { BenchWorld } from './world.ts';

/**
 * Starts one with the scratch directory at /b; it ends with the world, by its label.
 *
 * @returns runs a shell script in it, and gives the milliseconds that it took
 */
export async function box(world: BenchWorld): Promise<(script: string) => Promise<number>> {
  const image = (await world.output(world.piSandbox('image', 'status', '--json'))).trim();
  const { name } = JSON.parse(image);
  const words = ['run', '-d', '--label', 'pi-sandbox.prefix=bench-', '--user', '0:0', '--network', 'none'];
  const sleep = ['--entrypoint', '/bin/sleep', '-v', `${world.scratch}:/b`, String(name), 'infinity'];
  const id = (await world.output(world.docker(...words, ...sleep))).trim();
  return async (script) => {
    const timed = `set -e; a=$(date +%s%N); ${script}; b=$(date +%s%N); echo "$((b - a))"`;
    const { output } = await run(world.docker('exec', id, 'sh', '-c', timed), world.signal, 600_000);
    return Number(output.trim().split('\n').at(-1)) / 1e6;
  };
}
