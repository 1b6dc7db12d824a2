/** B4: how much of a short command is ours. */
import { type Command, run } from '../commands.ts';
import type { Row, RowMaker, Side } from '../row.ts';
import type { BenchWorld } from '../world.ts';

export const help: RowMaker = async (world) => {
  const baseline = side(world, 'node -e 0', { file: process.execPath, words: ['-e', '0'] });
  const rows: [string, string[]][] = [
    ['B4', ['--help']],
    ['B4b', ['sessions', 'list', '--help']],
  ];
  return rows.map(
    ([id, words]): Row => ({
      id,
      work: `pi-sandbox ${words.join(' ')}, to its end`,
      goal: 2,
      pairsFactor: 3,
      ours: side(world, `pi-sandbox ${words.join(' ')}`, world.piSandbox(...words)),
      baseline,
    }),
  );
};

function side(world: BenchWorld, name: string, command: Command): Side {
  return { name, measure: async () => (await run(command, world.signal)).toEnd };
}
