/** The engine itself: what it is, its clock, its room (S17, S19). */
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasCode } from '../../lib/errors.ts';
import { bytes } from '../../lib/table.ts';
import { ok, problem, type Row, warning } from './row.ts';
import type { EngineScene } from './scene.ts';

/** The oldest versions that are tested. */
const OLDEST = { docker: [20, 10], podman: [4, 3] } as const;
/** Locks, tokens and retention live on comparable clocks. */
const CLOCK_MS = 2_000;
const GIBIBYTE = 2 ** 30;
/** An image build needs about two; below one everything begins to fail. */
const LITTLE_BYTES = 5 * GIBIBYTE;
const TOO_LITTLE_BYTES = GIBIBYTE;

type Told = Pick<EngineScene, 'info' | 'clockAheadMs'> & {
  readonly engine: Pick<EngineScene['engine'], 'address' | 'foundBy'>;
};

export function checkEngine(scene: Told): Row[] {
  return [engine(scene), isolation(scene), clock(scene)];
}

function engine({ engine: { address, foundBy }, info }: Told): Row {
  const kind = info.isPodman ? 'podman' : 'docker';
  const name = info.isPodman ? 'Podman' : 'Docker Engine';
  const found = `${name} ${info.version}, API ${info.apiVersion}, at ${address} (${foundBy})`;
  const [oldMajor, oldMinor] = OLDEST[kind];
  const [major = 0, minor = 0] = info.version.split('.').map((part) => Number.parseInt(part, 10));
  if (major > oldMajor || (major === oldMajor && minor >= oldMinor)) return ok('engine', found);
  return problem('engine', `${found} is too old`, `upgrade it to ${oldMajor}.${oldMinor} or later`);
}

function isolation({ info }: Told): Row {
  const check = 'isolation';
  const detail = `${info.rootless ? 'rootless' : 'rootful'}, cgroup v${info.cgroupVersion || '1'}`;
  if (!info.securityOptions.some((option) => option.includes('seccomp'))) {
    return problem(check, `${detail}, without seccomp`, 'use an engine and a kernel with seccomp');
  }
  if (info.rootless && info.cgroupVersion === '1') {
    return warning(
      check,
      `${detail}: limits of memory and processes have no effect`,
      'switch the host to cgroup v2',
    );
  }
  if (info.networkBackend === 'netavark') {
    return warning(
      check,
      `${detail}, seccomp; with netavark sandboxes may reach each other's ports after another one has ended`,
      'network_backend = "cni" in containers.conf keeps them apart',
    );
  }
  return ok(check, `${detail}, seccomp`);
}

function clock({ clockAheadMs }: Told): Row {
  if (clockAheadMs === undefined) return ok('clock', 'the engine does not tell its time');
  const seconds = Math.abs(clockAheadMs / 1_000).toFixed(1);
  if (Math.abs(clockAheadMs) <= CLOCK_MS) return ok('clock', 'the same as here');
  const which = clockAheadMs > 0 ? 'ahead of' : 'behind';
  return problem('clock', `the engine is ${seconds} s ${which} this machine`, 'set both clocks by NTP');
}

/** Only of an engine on this machine: the room of another is not to be seen from here. */
export async function checkDisk({ engine: { local }, info }: EngineScene): Promise<Row[]> {
  if (!local || info.dataRoot === '') return [];
  const free = await freeBytes(info.dataRoot);
  if (free === undefined) return [];
  const detail = `${bytes(free)} free at ${info.dataRoot}`;
  const advice = 'make room: pi-sandbox image prune';
  if (free < TOO_LITTLE_BYTES) return [problem('disk space', detail, advice)];
  return [free < LITTLE_BYTES ? warning('disk space', detail, advice) : ok('disk space', detail)];
}

/** Of the directory, or of the nearest one above it that this user may look at. */
async function freeBytes(directory: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(directory);
    return bavail * bsize;
  } catch (error) {
    if (!hasCode(error, 'ENOENT', 'EACCES') || dirname(directory) === directory) return undefined;
    return freeBytes(dirname(directory));
  }
}
