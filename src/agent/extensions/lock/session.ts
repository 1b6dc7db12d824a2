/** The life of one Session in this pi: take its lock at the start, or refuse, or wait; give it back at the end (H3). */
import { existsSync } from 'node:fs';
import {
  type ExtensionApi,
  type ExtensionContext,
  readLastEntryId,
  type SessionFacts,
  type SessionLockAttempt,
  type SessionTarget,
} from '../../../pi/index.ts';
import type { Owner } from './owner.ts';
import { findSession, type OpenSession, type Registry } from './registry.ts';

const REREAD = 'session-reread';

export interface SessionLife {
  start(context: ExtensionContext): Promise<void>;
  /** `next` is the file that pi goes on with, after a reload the same one. */
  end(reason: string, next: string | undefined): void;
  /** Why nothing may happen in this Session now; undefined when all is well. */
  blocked(): string | undefined;
}

interface Needs {
  pi: ExtensionApi;
  registry: Registry;
  owner: Owner;
  /** Ends the process with a message on standard error. */
  refuse(text: string): never;
}

export function makeSessionLife(needs: Needs): SessionLife {
  const { registry, owner } = needs;
  let mine: OpenSession | undefined;
  let waiting: AbortController | undefined;
  return {
    async start(context) {
      const target = targetOf(context.sessionManager);
      if (!target) return;
      mine = findSession(registry, target);
      // Kept for us by `end`, after a reload or when the file was read again.
      if (mine?.state === 'open') return;
      if (mine?.state === 'stale') return reread(target.file, needs.pi);
      mine ??= { target, lock: undefined, state: 'waiting' };
      registry.sessions.add(mine);
      const attempt = await takeOrGoOn(mine, owner);
      if ('lock' in attempt) {
        mine.lock = attempt.lock;
        mine.state = isFresh(context.sessionManager, target.file) ? 'open' : 'stale';
        if (mine.state === 'open') return;
        if (context.mode !== 'tui') {
          needs.refuse(`Session ${target.id} was changed by another pi during the start. Start again.`);
        }
        reread(target.file, needs.pi);
        return;
      }
      const text = `Session ${target.id} is ${owner.describeHolder(target)}.`;
      if (context.mode !== 'tui')
        needs.refuse(`${text} Nothing was changed. Close it there, or fork it (--fork).`);
      waiting = new AbortController();
      announceWaiting(context, text);
      void waitForTurn(mine, waiting.signal, context, needs);
    },
    end(reason, next) {
      waiting?.abort();
      if (!mine) return;
      if (reason === 'reload' || (reason === 'resume' && next === mine.target.file)) {
        // pi has read the file again by now, and under our lock if we have it.
        if (mine.state === 'stale' && reason === 'resume') mine.state = 'open';
        return;
      }
      mine.lock?.release();
      registry.sessions.delete(mine);
      mine = undefined;
    },
    blocked() {
      if (!mine || mine.state === 'open') return undefined;
      if (mine.state === 'stale') return 'The file of this Session is being read again.';
      return `This Session is ${owner.describeHolder(mine.target)}.`;
    },
  };
}

/** Undefined for a Session that is kept in memory. */
function targetOf(manager: SessionFacts): SessionTarget | undefined {
  const file = manager.getSessionFile();
  return file === undefined ? undefined : { id: manager.getSessionId(), file };
}

/** Where no lock can be taken at all (no directory, no native module) pi is used as it would be without us. */
async function takeOrGoOn(session: OpenSession, owner: Owner): Promise<SessionLockAttempt> {
  try {
    return await owner.take(session.target);
  } catch (error) {
    session.state = 'open';
    throw error;
  }
}

/** False when another pi appended between our reading of the file and our lock, or a write of ours was left out. */
function isFresh(manager: SessionFacts, file: string): boolean {
  if (!existsSync(file)) return true;
  const last = readLastEntryId(file);
  return last === undefined || last === manager.getLeafId();
}

function announceWaiting(context: ExtensionContext, text: string): void {
  const advice = 'Close it there, or use /fork or /new; this terminal goes on by itself when it is free.';
  context.ui.notify(`${text} Input is blocked until then. ${advice}`, 'warning');
  context.ui.setStatus('session-lock', `waiting: ${text}`);
}

/** Once the lock is ours, what the other pi appended is read before anything else may happen. */
async function waitForTurn(
  session: OpenSession,
  signal: AbortSignal,
  context: ExtensionContext,
  needs: Needs,
): Promise<void> {
  try {
    const lock = await needs.owner.wait(session.target, signal);
    if (!lock) return;
    if (signal.aborted) return lock.release();
    session.lock = lock;
    context.ui.setStatus('session-lock', undefined);
    if (!existsSync(session.target.file)) {
      session.state = 'open';
      context.ui.notify('The Session is free: go on.', 'info');
      return;
    }
    session.state = 'stale';
    reread(session.target.file, needs.pi);
  } catch (error) {
    context.ui.notify(`Waiting for the Session failed: ${String(error)}. Start pi again.`, 'error');
  }
}

/** Only a command may switch Sessions, so one is made for this, where it is needed. */
function reread(file: string, pi: ExtensionApi): void {
  pi.registerCommand(REREAD, {
    description: "Read this Session's file again",
    handler: async (_args, context) => {
      const typed = context.ui.getEditorText();
      await context.switchSession(file, {
        withSession: async (renewed) => {
          if (typed !== '') renewed.ui.setEditorText(typed);
          // After pi's own "Resumed session", which would take this line's place.
          setTimeout(() => renewed.ui.notify('The Session is free and was read again: go on.', 'info'), 0);
        },
      });
    },
  });
  pi.sendUserMessage(`/${REREAD}`, { expandPromptTemplates: true });
}
