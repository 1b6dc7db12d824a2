import { readFileSync } from 'node:fs';

/**
 * In a terminal of its own pi is the leader of its session: nothing stands behind it that could continue it after
 * Ctrl-Z. pi would clear its screen, get no stop signal from the kernel (its process group is an orphan) and wait for
 * SIGCONT for ever. So the suspend is answered by that signal at once, which makes pi draw itself again (H1, S20). A pi
 * that was started from a shell in the sandbox has one to return to, and suspends as usual.
 */
export function disableSuspend(process: NodeJS.Process = globalThis.process): void {
  if (!leadsItsSession(process.pid)) return;
  process.on('SIGTSTP', () => process.kill(process.pid, 'SIGCONT'));
}

function leadsItsSession(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Behind the name in parentheses: state, parent, process group, session.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3] === String(pid);
  } catch {
    return false;
  }
}
