/** B9, B10 and B18: what a history of many Sessions costs, in one container against the plain tools there. */
import { chownSync, cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { generateHistory } from '../../test/setup/history-generator.ts';
import { box } from '../box.ts';
import type { Row, RowMaker, Side } from '../row.ts';
import type { BenchWorld } from '../world.ts';

const NODE = '/usr/local/bin/node';
const RETENTION = { days: 30, trashDays: 7 };
const LIST = { version: 1, verb: 'list', retention: RETENTION, sessions: false, trash: false };
const PRUNE = { version: 1, verb: 'prune', retention: RETENTION, dryRun: true };
const NOW = new Date();
const FULL = process.env.BENCH_FULL === '1';
const MANY = 100_000;

/** As it is when every start prunes: of a thousand Sessions, one is older than the retention and has to be looked into. */
const PRUNED = 3;
/** As a first prune finds it: half of the Sessions are. */
const NEVER_PRUNED = 30;

function makeHistory(
  world: BenchWorld,
  name: string,
  sessions: number,
  medianBytes: number,
  medianDays = PRUNED,
): string {
  const directory = join(world.scratch, name);
  mkdirSync(join(directory, 'locks'), { recursive: true });
  const owner = { uid: 0, gid: 0 };
  const options = {
    seed: name,
    sessions,
    now: NOW,
    medianBytes,
    medianDays,
    largestBytes: medianBytes * 50,
    misdated: 0,
    owner,
  };
  let count = 0;
  for (const _ of generateHistory(join(directory, 'sessions'), options)) count++;
  chownSync(join(directory, 'sessions'), 0, 0);
  process.stderr.write(`bench: made ${count} Sessions in ${name}\n`);
  return `/b/${name}`;
}

const program = (request: object, place: string): string =>
  `${NODE} /opt/pi-sandbox/history.mjs '${JSON.stringify(request)}' ${place}/sessions ${place}/locks >/dev/null`;

export const listing: RowMaker = async (world) => {
  const inside = await box(world);
  const side = (name: string, script: string): Side => ({ name, measure: () => inside(script) });
  const places = new Map(
    [MANY / 100, MANY / 10, MANY].map((count) => [count, makeHistory(world, `h${count}`, count, 700)]),
  );
  const many = places.get(MANY) ?? '';
  const ours: [id: string, work: string, request: object, find: string][] = [
    [
      'B9',
      `sessions list over ${MANY} Sessions`,
      LIST,
      `find ${many}/sessions -type f -printf '%s %T@ %p\\n' >/dev/null`,
    ],
    [
      'B9p',
      `prune --dry-run over ${MANY} Sessions`,
      PRUNE,
      `find ${many}/sessions -type f -mtime +30 >/dev/null`,
    ],
  ];
  const rows = ours.map(
    ([id, work, request, find]): Row => ({
      id,
      work,
      goal: 2.5,
      ours: side(work, program(request, many)),
      baseline: side('find in the same container', find),
    }),
  );
  const unpruned = makeHistory(world, 'unpruned', MANY / 10, 700, NEVER_PRUNED);
  rows.push({
    id: 'B9u',
    work: `sessions list over ${MANY / 10} Sessions, half of them expired`,
    ours: side('each expired one is opened', program(LIST, unpruned)),
    baseline: side('find opens none', `find ${unpruned}/sessions -type f -printf '%s %T@ %p\\n' >/dev/null`),
  });
  const growth = [MANY / 10, MANY].map((count): Row => {
    const [large, small] = [places.get(count) ?? '', places.get(count / 10) ?? ''];
    return {
      id: `B18 ${count}`,
      work: `sessions list, ${count} against ${count / 10}`,
      goal: 10,
      ours: side('ten times as many', program(LIST, large)),
      baseline: side(`${count / 10} Sessions`, program(LIST, small)),
    };
  });
  return [...rows, ...growth];
};

export const migration: RowMaker = async (world) => {
  const inside = await box(world);
  const sessions = FULL ? 20_000 : 2_000;
  makeHistory(world, 'old', sessions, 20_000);
  const from = join(world.scratch, 'old/sessions');
  const work = join(world.scratch, 'migration');
  const fresh = (): void => {
    rmSync(work, { recursive: true, force: true });
    mkdirSync(join(work, 'shared/.pi/agent'), { recursive: true });
    mkdirSync(join(work, 'domain'));
    cpSync(from, join(work, 'shared/.pi/agent/sessions'), { recursive: true, preserveTimestamps: true });
  };
  fresh();
  const table = { rules: [], fallback: 'one' };
  const places = { sharedRoot: '/b/migration/shared', domains: { one: '/b/migration/domain' } };
  const request = JSON.stringify({ version: 1, verb: 'migrate', table, ...places });
  const old = '/b/migration/shared/.pi/agent/sessions';
  const reset = async (): Promise<void> => fresh();
  return [
    {
      id: 'B10',
      work: `migration of ${sessions} old Sessions, ${FULL ? 2_000 : 200} MB`,
      goal: 1.5,
      ours: {
        name: 'the migration',
        measure: () => inside(`${NODE} /opt/pi-sandbox/legacy.mjs '${request}' >/dev/null`),
        reset,
      },
      baseline: {
        name: 'cp -a, sync, rm -r',
        measure: () => inside(`cp -a ${old}/. /b/migration/domain/; sync; rm -r ${old}`),
        reset,
      },
    },
  ];
};
