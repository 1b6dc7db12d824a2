/**
 * The agent directories that a command works on (W10, W12): this environment's, and in a sandbox the real ones behind its
 * links, in the shared volume and in the domain's.
 */
import { realpathSync } from 'node:fs';
import { type AgentDir, pathsOf, type Roots, sandboxRoots } from '../../agent-dir/index.ts';
import { readRegularFile } from '../../lib/bounded-read.ts';

export interface AgentPlace {
  /** For people. */
  readonly where: string;
  readonly path: AgentDir;
  /** Its links are how a sandbox makes it, and none of its entries. */
  readonly skipLinks: boolean;
}

/** The sandbox's mounts, when the directory is the one that a sandbox makes in its memory. */
function sandboxOf(agentDir: AgentDir): Roots | undefined {
  const roots = sandboxRoots(process.getuid?.() ?? 0);
  try {
    return realpathSync(agentDir) === pathsOf(roots).agent ? roots : undefined;
  } catch {
    return undefined;
  }
}

export function agentPlaces(agentDir: AgentDir): AgentPlace[] {
  const roots = sandboxOf(agentDir);
  if (roots === undefined) return [{ where: 'agent directory', path: agentDir, skipLinks: false }];
  const { sharedAgent, domainAgent } = pathsOf(roots);
  return [
    { where: 'shared volume', path: sharedAgent, skipLinks: false },
    { where: 'domain volume', path: domainAgent, skipLinks: false },
    { where: 'sandbox', path: agentDir, skipLinks: true },
  ];
}

/** What is migrated, and the caller's own place among the living there. */
export async function migrationTarget(
  agentDir: AgentDir,
): Promise<{ path: AgentDir; own: number | undefined; inSandbox: boolean }> {
  const roots = sandboxOf(agentDir);
  if (roots === undefined) return { path: agentDir, own: undefined, inSandbox: false };
  const { sharedAgent, liveMark } = pathsOf(roots);
  const text = (await readRegularFile(liveMark, { maxBytes: 64 }))?.toString('latin1') ?? '';
  const own = /^[1-9]\d{0,15}\n$/.test(text) ? Number(text) : undefined;
  return { path: sharedAgent, own, inSandbox: true };
}
