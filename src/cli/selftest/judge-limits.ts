import { bytes } from '../../lib/table.ts';
import type { Evidence } from './evidence.ts';
import { type Row, row, skipped } from './row.ts';

/** What the sandbox may use and write (S17). */
export function judgeLimits(evidence: Evidence): Row[] {
  return [readOnlyRoot(evidence), memory(evidence), pids(evidence)];
}

function readOnlyRoot({ engine, facts }: Evidence): Row {
  const root = facts.mounts.find(({ target }) => target === '/');
  const wrong = [
    ...(facts.rootWrite === 'EROFS' ? [] : [`a write to / gave ${facts.rootWrite}, not EROFS`]),
    ...(root?.options.includes('ro') === true ? [] : ['/ is not mounted read-only']),
    ...(engine.readOnlyRoot ? [] : ['the engine says it is writable']),
  ];
  return row('read-only root', wrong, 'a write to / fails with EROFS');
}

function memory({ expected, engine, facts }: Evidence): Row {
  const check = 'memory limit';
  if (engine.memoryBytes === 0) return row(check, ['the container has none'], '');
  const asked = bytes(engine.memoryBytes);
  const now =
    engine.memoryBytes === expected.memoryBytes
      ? ''
      : `; a new sandbox would get ${bytes(expected.memoryBytes)}`;
  const seen = facts.limits.memory;
  if (seen === undefined) return skipped(check, `${asked} as the engine says; not to be seen inside${now}`);
  // The kernel counts in pages.
  const same = Math.abs(Number(seen) - engine.memoryBytes) < 65_536;
  return row(check, same ? [] : [`the kernel has ${seen}, the engine ${engine.memoryBytes}`], asked + now);
}

function pids({ expected, engine, facts }: Evidence): Row {
  const check = 'process limit';
  if (engine.pids <= 0) return row(check, ['the container has none'], '');
  const now = engine.pids === expected.config.PIDS ? '' : `; a new sandbox would get ${expected.config.PIDS}`;
  const seen = facts.limits.pids;
  if (seen === undefined) return skipped(check, `${engine.pids} as the engine says; not to be seen inside`);
  const same = seen === String(engine.pids);
  return row(
    check,
    same ? [] : [`the kernel has ${seen}, the engine ${engine.pids}`],
    `${engine.pids}${now}`,
  );
}
