/**
 * Loaded into every pi of a sandbox: a Session is open in one pi only (H3), an expired one comes back before anything
 * is appended (S11), the next start of pi gets its turn (S8), the supervisor knows what lives here (S14), and no storage
 * outlives the extension that claimed it (W3). No part of it may break pi: what fails is said once, and pi goes on.
 */
import { statSync, writeSync } from 'node:fs';
import {
  type ExtensionApi,
  type ExtensionContext,
  readSessionFileId,
  type SessionLock,
  type SessionTarget,
  sessionLockDirectory,
} from '../../pi/index.ts';
import { makePresence, type Presence } from '../presence.ts';
import { BACK, installGuard, makeGate } from './lock/guard.ts';
import { makeOwner, type Owner } from './lock/owner.ts';
import { piClasses } from './lock/pi-module.ts';
import { processRegistry } from './lock/registry.ts';
import { makeSessionLife, type SessionLife } from './lock/session.ts';
import { releaseStartTurn } from './lock/start-turn.ts';
import { bringBackChosen } from './lock/switched-to.ts';
import { makeVoice, type Voice } from './lock/voice.ts';
import { disableSuspend } from './no-suspend.ts';
import { releaseStorage } from './work-storage.ts';

export default async function sessionLock(pi: ExtensionApi): Promise<void> {
  const registry = processRegistry();
  registry.starting = true;
  const voice = makeVoice();
  if (!registry.suspendDisabled) {
    registry.suspendDisabled = true;
    disableSuspend();
  }
  const owner = makeOwner(sessionLockDirectory(process.env), process.env.PI_SANDBOX_NAME);
  registry.gate = makeGate(registry, {
    takeForOneWrite: (target) => takeForOneWrite(owner, target),
    describeHolder: owner.describeHolder,
    say: voice.warn,
    cameBack: (target, trash) => logReturn(voice, target, trash),
  });
  const { SessionManager } = await piClasses(process.argv[1]);
  if (SessionManager) installGuard(SessionManager, registry);
  const life = makeSessionLife({ pi, registry, owner, refuse });
  const presence = makePresence(process.env);

  pi.on('session_start', async (_event, context) => {
    voice.attach(context);
    // Where the early guard did not find pi's class, its object shows the way now.
    if (!installGuard(Object.getPrototypeOf(context.sessionManager), registry)) {
      voice.warn('This version of pi is not known to the Session lock: do not open one Session twice.');
    }
    releaseStartTurn(process.env);
    await voice.guarded('The Session lock', () => life.start(context));
    registry.starting = false;
    if (life.blocked() === undefined) nameSession(pi, process.env);
    void announce(presence, voice, context);
    return undefined;
  });
  pi.on('session_shutdown', (event) => {
    presence.close();
    releaseStorage();
    registry.starting = event.reason !== 'quit';
    life.end(event.reason, event.targetSessionFile);
    return undefined;
  });
  pi.on('session_info_changed', (_event, context) => {
    void announce(presence, voice, context);
    return undefined;
  });
  blockWhileTaken(pi, life);
  pi.on('session_before_switch', async ({ targetSessionFile }) => {
    if (targetSessionFile === undefined) return undefined;
    await voice.guarded('Looking for the Session in the trash', async () => {
      const back = bringBackChosen(targetSessionFile);
      if (back === undefined) return;
      logReturn(voice, back.target, back.trash);
      voice.warn(BACK);
    });
    return undefined;
  });
  refuseTakenSwitch(pi, owner);
}

/**
 * pi writes a `--name` into an existing Session before it loads any extension, so before there is a lock. The launcher
 * hands the name to us instead.
 */
function nameSession(pi: ExtensionApi, env: NodeJS.ProcessEnv): void {
  const name = env.PI_SANDBOX_SESSION_NAME;
  // Not for the next Session of this pi, and not for a pi that this one starts.
  delete env.PI_SANDBOX_SESSION_NAME;
  if (name !== undefined && name.trim() !== '') pi.setSessionName(name);
}

/** `session_start` says it when locks do not work here; a write then goes through, as it does without us. */
function takeForOneWrite(owner: Owner, target: SessionTarget): SessionLock | undefined {
  try {
    const attempt = owner.takeNow(target);
    return 'lock' in attempt ? attempt.lock : undefined;
  } catch {
    return { release: () => {} };
  }
}

/** Beside what pi does next, which does not wait for it (S11). */
function logReturn(
  voice: Voice,
  { id, file }: SessionTarget,
  trash: { from: string; sessions: string },
): void {
  const looked = statSync(file, { throwIfNoEntry: false });
  if (looked === undefined) return;
  const session = { ...trash, id, file, bytes: looked.size, lastChange: looked.mtime };
  void voice.guarded("Telling the history's log", async () => {
    const { logBroughtBack } = await import('./history-log.ts');
    await logBroughtBack(session);
  });
}

function announce(presence: Presence, voice: Voice, context: ExtensionContext): Promise<void> {
  // For the pi of a job its runner speaks.
  if (process.env.MULTI_AGENT_JOB) return Promise.resolve();
  const id = context.sessionManager.getSessionId();
  const name = context.sessionManager.getSessionName();
  return voice.guarded('Telling the sandbox about this Session', () =>
    presence.announce({ kind: 'session', id, name }),
  );
}

/** Nothing may run in a Session that another pi has: no prompt, tool, shell command, compaction or move in the tree. */
function blockWhileTaken(pi: ExtensionApi, life: SessionLife): void {
  pi.on('input', (event, context) => {
    const reason = life.blocked();
    if (reason === undefined) return undefined;
    context.ui.notify(`${reason} Your text was not sent.`, 'warning');
    context.ui.setEditorText(event.text);
    return { action: 'handled' };
  });
  pi.on('agent_start', (_event, context) => {
    if (life.blocked() !== undefined) context.abort();
    return undefined;
  });
  pi.on('tool_call', () => {
    const reason = life.blocked();
    return reason === undefined ? undefined : { block: true, reason };
  });
  pi.on('user_bash', () => {
    const reason = life.blocked();
    if (reason === undefined) return undefined;
    return { result: { output: `${reason} Not run.`, exitCode: 1, cancelled: false, truncated: false } };
  });
  pi.on('session_before_compact', () => (life.blocked() === undefined ? undefined : { cancel: true }));
  pi.on('session_before_tree', () => (life.blocked() === undefined ? undefined : { cancel: true }));
}

/** A terminal may wait in the other Session; a program is told at once and stays where it is. */
function refuseTakenSwitch(pi: ExtensionApi, owner: Owner): void {
  pi.on('session_before_switch', async (event, context) => {
    const file = event.targetSessionFile;
    if (context.mode === 'tui' || file === undefined || file === context.sessionManager.getSessionFile()) {
      return undefined;
    }
    const target = { id: idOf(file) ?? file, file };
    const attempt = await owner.take(target);
    if ('lock' in attempt) {
      attempt.lock.release();
      return undefined;
    }
    writeLine(`Session ${target.id} is ${owner.describeHolder(target)}. The current Session stays open.`);
    return { cancel: true };
  });
}

function idOf(file: string): string | undefined {
  try {
    return readSessionFileId(file);
  } catch {
    // pi will say what is wrong with the file.
    return undefined;
  }
}

function refuse(text: string): never {
  writeLine(text);
  process.exit(1);
}

function writeLine(text: string): void {
  writeSync(2, `pi-sandbox: ${text}\n`);
}
