/** What belongs at the root of an agent directory (W9, W12): of it the audit says nothing. */
import { ROOT_FILES } from '../places.ts';

/** pi's own, the sandbox's and the jobs' are canonical too: to move them would break who looks for them there. */
const FILES: ReadonlySet<string> = new Set([
  ...ROOT_FILES,
  'AGENTS.override.md',
  'CLAUDE.md',
  'models-store.json',
  'crashes.json',
  'mcp.log',
  'mcp.log.1',
  'pi-debug.log',
]);

const DIRECTORIES: ReadonlySet<string> = new Set([
  'okf-memory',
  'skills',
  'extensions',
  'prompts',
  'themes',
  'profiles',
  'agents',
  'state',
  'cache',
  'bin',
  'work',
  'runtimes',
  'models',
  'sessions',
  'multi-agent-sessions',
  'npm',
  'git',
  'worktrees',
  'tmp',
]);

/** Our own locks, which are never deleted. */
const LOCKS: ReadonlySet<string> = new Set(['.setup.lock', '.trust.lock', '.live.lock']);

/** What the supervisor puts down for a moment beside a link that it mends. */
const PASSING = /^\.[^/]+\.(?:link|taken)$/;

/** A link may stand for either: people keep their skills elsewhere. */
export function isCanonical(name: string, kind: 'file' | 'directory' | 'link' | 'other'): boolean {
  if (kind !== 'directory' && (FILES.has(name) || LOCKS.has(name) || PASSING.test(name))) return true;
  if (kind === 'file' || kind === 'other') return false;
  // pi locks a file by a directory beside it.
  return DIRECTORIES.has(name) || (name.endsWith('.lock') && FILES.has(name.slice(0, -'.lock'.length)));
}
