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
 */
export async function hostUlimits(file = '/proc/self/limits'): Promise<Ulimit[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return [
    ulimit('nofile', hardLimit(text, 'Max open files')),
    ulimit('nproc', hardLimit(text, 'Max processes')),
  ].filter((limit) => limit !== undefined);
}

function ulimit(name: Ulimit['name'], hard: number | undefined): Ulimit | undefined {
  return hard === undefined || hard >= PODMAN_DEFAULT ? undefined : { name, soft: hard, hard };
}

function hardLimit(text: string, name: string): number | undefined {
  const line = text.split('\n').find((candidate) => candidate.startsWith(name));
  const [, hard] = line?.slice(name.length).trim().split(/\s+/) ?? [];
  return hard === undefined || hard === 'unlimited' ? undefined : Number(hard);
}
