/** B15, B16 and B18: what leased work directories cost, in one container against the plain calls there. */
import { join } from 'node:path';
import { makeWorkRuns } from '../../test/setup/work-runs.ts';
import { box } from '../box.ts';
import type { Row, RowMaker, Side } from '../row.ts';

const NODE = '/usr/local/bin/node';
const AGENT_DIR = '/b/agent';
const FULL = process.env.BENCH_FULL === '1';
/** Runs of the largest prune; each has ten files. */
const RUNS = FULL ? 10_000 : 1_000;
const FILES_EACH = 10;
/** Of one measurement: one alone is mostly Node's start. */
const ACQUIRES = 200;

const ACQUIRE = `
import { acquireWorkRun } from "/opt/pi-sandbox/library/work.mjs";
for (let n = 0; n < ${ACQUIRES}; n++) await (await acquireWorkRun({ category: "bench", tenant: "b15" })).release();`;

/** What a careful program does by hand: as many waits for the disk, no lease, no retention. */
const BY_HAND = `
import { closeSync, fsyncSync, mkdirSync, mkdtempSync, openSync, renameSync, writeSync } from "node:fs";
const root = "${AGENT_DIR}/by-hand";
mkdirSync(root, { recursive: true });
const sync = (path) => { const fd = openSync(path, "r"); fsyncSync(fd); closeSync(fd); };
for (let n = 0; n < ${ACQUIRES}; n++) {
  const made = mkdtempSync(root + "/.making-");
  const fd = openSync(made + "/manifest.json", "wx", 0o600);
  writeSync(fd, JSON.stringify({ made, at: new Date().toISOString(), by: process.pid, what: "a run of the bench" }));
  fsyncSync(fd);
  closeSync(fd);
  sync(made);
  renameSync(made, made.replace("/.making-", "/run-"));
  sync(root);
}`;

/** Neither program holds a quote of the shell's. */
function inNode(program: string): string {
  return `PI_CODING_AGENT_DIR=${AGENT_DIR} ${NODE} --input-type=module -e '${program}' >/dev/null`;
}

export const acquire: RowMaker = async (world) => {
  const inside = await box(world);
  const side = (name: string, program: string, leaves: string): Side => ({
    name,
    measure: () => inside(inNode(program)),
    reset: async () => void (await inside(`rm -rf ${AGENT_DIR}/${leaves}`)),
  });
  return [
    {
      id: 'B15',
      work: `acquire and release of ${ACQUIRES} work runs`,
      goal: 3,
      ours: side('acquireWorkRun and release', ACQUIRE, 'work'),
      baseline: side('mkdtemp, a file, rename, the same fsyncs', BY_HAND, 'by-hand'),
    },
  ];
};

/** A prune of a whole tenant, and what removes the same tree. */
export const prune: RowMaker = async (world) => {
  const inside = await box(world);
  const make = (runs: number): string => {
    makeWorkRuns(join(world.scratch, `p${runs}`, 'work'), { runs, files: FILES_EACH });
    return `/b/p${runs}`;
  };
  const ours = (runs: number, name: string): Side => ({
    name,
    measure: () =>
      inside(`PI_CODING_AGENT_DIR=${make(runs)} ${NODE} /opt/pi-sandbox/pi-work.mjs prune >/dev/null`),
  });
  const growth = [RUNS / 10, RUNS].map(
    (runs): Row => ({
      id: `B18w ${runs}`,
      work: `prune, ${runs} runs against ${runs / 10}`,
      goal: 10,
      ours: ours(runs, 'ten times as many'),
      baseline: ours(runs / 10, `${runs / 10} runs`),
    }),
  );
  return [
    {
      id: 'B16',
      work: `prune of ${RUNS} work runs, ${RUNS * FILES_EACH} files`,
      goal: 2,
      ours: ours(RUNS, 'pi-work prune'),
      baseline: { name: 'rm -rf', measure: () => inside(`rm -rf ${make(RUNS)}/work/jobs`) },
    },
    ...growth,
  ];
};
