/**
 * Stands before every write of a Session file (H3, S11). pi appends in many places, some of them before any event an
 * extension hears of (a thinking level given on the command line, a version's upgrade), so the guard wraps the two
 * methods of pi 1.6.0 through which all of them go. Tests with the real pi hold that; should a later pi have no such
 * methods, the extension says so and only the events protect the Session.
 */
import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { bringBackFromTrash, type SessionTarget } from '../../../pi/index.ts';
import { findSession, type Registry } from './registry.ts';
import { appendWhole, rewriteWhole } from './whole-writes.ts';

/** What the user is told. */
export const BACK = 'This Session had expired and was in the trash; it is back.';

const MARK = Symbol.for('pi-sandbox.session-lock.guarded');

interface ManagerPrototype {
  [MARK]?: true;
  _persist(this: Manager, entry: unknown): void;
  _rewriteFile(this: Manager): void;
}

interface Manager extends ManagerPrototype {
  isPersisted(): boolean;
  getSessionId(): string;
  getSessionFile(): string | undefined;
  /** Where pi writes to. */
  sessionFile?: string;
  /** Nothing has been written yet: a missing file is how it should be. */
  flushed: boolean;
}

function isManagerPrototype(value: object): value is ManagerPrototype {
  return (
    '_persist' in value &&
    typeof value._persist === 'function' &&
    '_rewriteFile' in value &&
    typeof value._rewriteFile === 'function'
  );
}

/** Wraps pi's writers once per process. False when this pi has none of the expected form. */
export function installGuard(prototype: object, registry: Registry): boolean {
  if (!isManagerPrototype(prototype)) return false;
  if (prototype[MARK]) return true;
  const { _persist: persist, _rewriteFile: rewrite } = prototype;
  prototype[MARK] = true;
  const guarded = (manager: Manager, append: (() => void) | undefined): void => {
    const file = manager.isPersisted() ? manager.getSessionFile() : undefined;
    if (file === undefined || !registry.gate) {
      if (append) append();
      else rewrite.call(manager);
      return;
    }
    const writeAll = (): void => rewriteSession(manager, file, rewrite);
    const write = append === undefined ? writeAll : () => appendWhole(file, append);
    const appends = append !== undefined && manager.flushed;
    registry.gate({ id: manager.getSessionId(), file }, write, appends ? writeAll : undefined);
  };
  prototype._persist = function guardedPersist(entry) {
    guarded(this, () => persist.call(this, entry));
  };
  prototype._rewriteFile = function guardedRewrite() {
    guarded(this, undefined);
  };
  return true;
}

function rewriteSession(manager: Manager, file: string, rewrite: (this: Manager) => void): void {
  const setFile = (to: string): void => {
    manager.sessionFile = to;
  };
  // A pi that keeps the path elsewhere writes in place, as without us.
  if (manager.sessionFile !== file) rewrite.call(manager);
  else rewriteWhole(file, setFile, () => rewrite.call(manager));
}

export interface GateNeeds {
  /** Takes the lock for one write of a Session that this pi has not open; undefined when another pi has it. */
  takeForOneWrite(target: SessionTarget): { release(): void } | undefined;
  /** Says something to the user, once per text. */
  say(text: string): void;
  describeHolder(target: SessionTarget): string;
  /** The Session's file was in the trash at `from`, and is back; nothing has been appended yet. */
  cameBack(target: SessionTarget, trash: { from: string; sessions: string }): void;
}

/** Decides about one write: do it, do it after bringing the file back, or leave it out. */
export function makeGate(registry: Registry, needs: GateNeeds): NonNullable<Registry['gate']> {
  return (target, write, writeAll) => {
    const open = findSession(registry, target);
    if (open) {
      if (open.state === 'open') writeWithFile(target, write, writeAll, needs);
      return;
    }
    const lock = needs.takeForOneWrite(target);
    if (lock) {
      try {
        writeWithFile(target, write, writeAll, needs);
      } finally {
        lock.release();
      }
    } else if (!registry.starting) {
      needs.say(`Nothing was written to Session ${target.id}: it is ${needs.describeHolder(target)}.`);
    }
  };
}

/** `writeAll` is given when the file should exist by now and `write` would only append to it. */
function writeWithFile(
  target: SessionTarget,
  write: () => void,
  writeAll: (() => void) | undefined,
  needs: GateNeeds,
): void {
  const before = inodeOf(target.file);
  if (before === undefined) makeFolder(target.file);
  if (!writeAll || before !== undefined) {
    write();
    // Retention moved the file away in this very moment: pi appended to a new one that has nothing but this entry.
    if (writeAll && inodeOf(target.file) !== before) writeAll();
    return;
  }
  const result = bringBackFromTrash(target.file, target.id);
  if (result.outcome === 'not-found') {
    // pi would make a file without a header. It still holds every entry, this one included.
    needs.say('The file of this Session was removed while it was open; it was written again.');
    writeAll();
    return;
  }
  if (result.outcome === 'restored') needs.cameBack(target, result);
  needs.say(
    result.outcome === 'restored'
      ? BACK
      : `This Session's file was replaced while it was open. The old one is kept: ${result.trashed}`,
  );
  write();
}

function inodeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino;
}

/** Retention removes folders that it emptied, also under a pi that has not written anything yet. */
function makeFolder(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
}
