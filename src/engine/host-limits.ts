import { readFile } from 'node:fs/promises';

export interface Ulimit {
  name: 'nofile' | 'nproc';
  soft: number;
  hard: number;
}

/** What Podman asks for by itself; more than that is never needed. */
const PODMAN_DEFAULT = 1_048_576;

/**
 * The limits to state on Podman, which otherwise asks for 1,048,576 and fails with `error setting rlimit type 7`
 * (nofile) or `type 6` (nproc) where the host grants less. None where they can't be known.
 * @param proc the proc file system; only tests set it
 */
export async function hostUlimits(proc = '/proc'): Promise<Ulimit[]> {
  const [limits, pidMax] = await Promise.all(
    ['self/limits', 'sys/kernel/pid_max'].map((file) => readFile(`${proc}/${file}`, 'utf8').catch(() => '')),
  );
  const files = hardLimit(limits ?? '', 'Max open files');
  // Podman's service lowers its own hard limit to the kernel's pid_max, and can then give no more.
  const processes = Math.min(
    hardLimit(limits ?? '', 'Max processes'),
    Number(pidMax) || Number.POSITIVE_INFINITY,
  );
  return [
    { name: 'nofile' as const, hard: files },
    { name: 'nproc' as const, hard: processes },
  ]
    .filter(({ hard }) => hard < PODMAN_DEFAULT)
    .map(({ name, hard }) => ({ name, soft: hard, hard }));
}

function hardLimit(limits: string, name: string): number {
  const line = limits.split('\n').find((candidate) => candidate.startsWith(name));
  const [, hard] = line?.slice(name.length).trim().split(/\s+/) ?? [];
  return hard === undefined || hard === 'unlimited' ? Number.POSITIVE_INFINITY : Number(hard);
}
