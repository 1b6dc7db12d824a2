import { readFileSync } from 'node:fs';
import type { SandboxStatus } from '../wire/index.ts';

const CGROUP = '/sys/fs/cgroup';
/** Version 1 writes "no limit" as the largest page-aligned number; anything near it is none. */
const NO_LIMIT = 2 ** 60;

/** Memory of the container as its control group counts it, in bytes; both versions of the interface. */
export function memoryUse(): SandboxStatus['memory'] {
  const used = number(`${CGROUP}/memory.current`) ?? number(`${CGROUP}/memory/memory.usage_in_bytes`) ?? 0;
  const limit = number(`${CGROUP}/memory.max`) ?? number(`${CGROUP}/memory/memory.limit_in_bytes`);
  return { used, limit: limit === undefined || limit > NO_LIMIT ? null : limit };
}

/** How many processes of the container the kernel has ended for lack of memory so far. */
export function outOfMemoryKills(): number {
  const text = read(`${CGROUP}/memory.events`) ?? read(`${CGROUP}/memory/memory.oom_control`) ?? '';
  return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
}

function number(path: string): number | undefined {
  const value = Number(read(path)?.trim());
  return Number.isSafeInteger(value) || value > NO_LIMIT ? value : undefined;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
