/** What the kernel says about this process: who it is, what it may, and what it may use. */
import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import type { SelftestFacts } from '../../wire/index.ts';

const CAPABILITY_SETS = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'] as const;

export function ownUser(): SelftestFacts['user'] {
  const groups = process.getgroups?.() ?? [];
  try {
    const { username, uid, gid, homedir } = userInfo();
    return { name: username, uid, gid, home: homedir, groups };
  } catch {
    // No entry for this uid: the very thing that is looked for.
    return { name: '', uid: process.getuid?.() ?? -1, gid: process.getgid?.() ?? -1, home: '', groups };
  }
}

export function ownProcess(): SelftestFacts['process'] {
  const status = readOr('/proc/self/status', '');
  const field = (name: string): string => new RegExp(`^${name}:\\s*(\\S+)`, 'm').exec(status)?.[1] ?? '';
  const [CapInh, CapPrm, CapEff, CapBnd, CapAmb] = CAPABILITY_SETS;
  const capabilities = {
    [CapInh]: field(CapInh),
    [CapPrm]: field(CapPrm),
    [CapEff]: field(CapEff),
    [CapBnd]: field(CapBnd),
    [CapAmb]: field(CapAmb),
  };
  return { capabilities, noNewPrivileges: field('NoNewPrivs'), seccomp: field('Seccomp') };
}

/** Of cgroup v2, else of v1; missing where this kernel shows neither inside the container. */
export function ownLimits(): SelftestFacts['limits'] {
  const first = (...files: string[]): string | undefined =>
    files.map((file) => readOr(`/sys/fs/cgroup/${file}`, '').trim()).find((value) => value !== '');
  const memory = first('memory.max', 'memory/memory.limit_in_bytes');
  const pids = first('pids.max', 'pids/pids.max');
  return { ...(memory === undefined ? {} : { memory }), ...(pids === undefined ? {} : { pids }) };
}

function readOr(file: string, otherwise: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return otherwise;
  }
}
