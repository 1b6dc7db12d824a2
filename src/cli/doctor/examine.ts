/** The doctor's round: every check with a limit of its own, so that nothing that hangs keeps the rest from being told. */
import { messageOf, PiSandboxError } from '../../lib/errors.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import type { GlobalOptions } from '../global-options.ts';
import { AGENT_DIRECTORY, type ChosenProject, checkAgentDir } from './check-agent-dir.ts';
import { checkDisk, checkEngine } from './check-engine.ts';
import { checkConfig, checkNode } from './check-host.ts';
import { checkImage } from './check-image.ts';
import { checkContainers, checkNetworks } from './check-leftovers.ts';
import { checkVolumeSizes, checkVolumes } from './check-volumes.ts';
import { problem, type Row, warning } from './row.ts';
import { clockDifference, type EngineScene, type Scene } from './scene.ts';

interface Check {
  readonly name: string;
  readonly look: (scene: Scene) => Row[] | Promise<Row[]>;
  /** Milliseconds. */
  readonly limit: number;
}

const SHORT_MS = 10_000;
const LONG_MS = 30_000;

/** In the order of the table. A later part of the product adds its own here. */
const CHECKS: readonly Check[] = [
  { name: 'engine', look: checkEngine, limit: SHORT_MS },
  { name: 'disk space', look: checkDisk, limit: SHORT_MS },
  { name: 'image', look: checkImage, limit: SHORT_MS },
  { name: 'containers', look: checkContainers, limit: SHORT_MS },
  { name: 'networks', look: checkNetworks, limit: SHORT_MS },
  { name: 'volumes', look: checkVolumes, limit: LONG_MS },
  { name: 'volume use', look: checkVolumeSizes, limit: LONG_MS },
];

export interface Examined {
  readonly rows: readonly Row[];
  /** Something was given up on, and may still hold this process. */
  readonly gaveUp: boolean;
}

export async function examine(
  options: GlobalOptions,
  env: NodeJS.ProcessEnv,
  home: string,
  chosen?: ChosenProject,
): Promise<Examined> {
  const { config, rows } = await checkConfig(env, home);
  const ofHost = [checkNode(process.version), ...rows];
  const asked = await askEngine(options.engine ?? config?.ENGINE, env, home);
  if ('problem' in asked) return { rows: safe([...ofHost, asked.problem]), gaveUp: true };
  // Without the configuration nothing on the engine is known to be ours.
  const ofEngine =
    config === undefined
      ? [{ rows: checkEngine(asked), gaveUp: false }]
      : await Promise.all(checksWith(chosen).map((check) => within(check, { ...asked, config })));
  asked.engine.close();
  return {
    rows: safe([...ofHost, ...ofEngine.flatMap((result) => result.rows)]),
    gaveUp: ofEngine.some(({ gaveUp }) => gaveUp),
  };
}

/** Only a project that was named has its sandbox looked at: that starts a helper container where none runs. */
function checksWith(chosen: ChosenProject | undefined): readonly Check[] {
  if (chosen === undefined) return CHECKS;
  const look = (scene: Scene): Promise<Row[]> => checkAgentDir(scene, chosen);
  return [...CHECKS, { name: AGENT_DIRECTORY, look, limit: LONG_MS }];
}

/** An engine that answers, or the row that says why there is none. */
async function askEngine(
  chosen: string | undefined,
  env: NodeJS.ProcessEnv,
  home: string,
): Promise<EngineScene | { problem: Row }> {
  try {
    const { openEngine } = await import('../../engine/index.ts');
    const engine = await openEngine({ env, home, ...(chosen === undefined ? {} : { engine: chosen }) });
    // The first call finds out what it is, so that the second is short and its time exact.
    await bounded(engine.system.isPodman(), SHORT_MS);
    const before = Date.now();
    const info = await bounded(engine.system.info(), SHORT_MS);
    if (info === 'too slow') throw new Error(`${engine.address} did not answer within ${SHORT_MS / 1_000} s`);
    const now = Date.now();
    return { engine, info, clockAheadMs: clockDifference(info.systemTime, before, now), now };
  } catch (error) {
    const advice = hintOf(error) ?? 'look at the engine, or name another: --engine';
    return { problem: problem('engine', messageOf(error), advice) };
  }
}

async function within(check: Check, scene: Scene): Promise<{ rows: Row[]; gaveUp: boolean }> {
  const advice = 'is the engine overloaded? try again';
  try {
    const rows = await bounded(Promise.resolve(check.look(scene)), check.limit);
    if (rows !== 'too slow') return { rows, gaveUp: false };
    const detail = `not known: no answer within ${check.limit / 1_000} s`;
    return { rows: [warning(check.name, detail, advice)], gaveUp: true };
  } catch (error) {
    return { rows: [problem(check.name, messageOf(error), hintOf(error) ?? advice)], gaveUp: false };
  }
}

async function bounded<T>(work: Promise<T>, milliseconds: number): Promise<T | 'too slow'> {
  const { promise, resolve } = Promise.withResolvers<'too slow'>();
  const timer = setTimeout(() => resolve('too slow'), milliseconds);
  work.catch(() => undefined);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}

function hintOf(error: unknown): string | undefined {
  return error instanceof PiSandboxError ? error.hint : undefined;
}

function safe(rows: readonly Row[]): Row[] {
  return rows.map((row) => ({
    ...row,
    detail: safeForTerminal(row.detail),
    advice: safeForTerminal(row.advice),
  }));
}
