/** Where a room is tried: one directory, one scene after the other, and how each is looked at. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Inspection } from './fault-case.ts';
import type { Child } from './history/child.ts';

/** What a try has lost, and what it must not have done, by kind. */
export type RoomFindings<Kind extends string> = Record<'lost' | Kind, string[]>;

export interface RoomWorld<Kind extends string> {
  readonly directory: string;
  /** It is ended with the try, if it has not ended by itself. */
  keep(child: Child): Child;
  /** How this try's scene is looked at when it has ended. */
  inspect(check: () => RoomFindings<Kind>): void;
  /** Called with the end of the try. */
  atEnd(work: () => void): void;
  close(): void;
}

interface State {
  children: Set<Child>;
  check: (() => RoomFindings<string>) | undefined;
  endings: (() => void)[];
  findings: RoomFindings<string> | undefined;
}

const states = new WeakMap<object, State>();

export function openRoomWorld<Kind extends string>(prefix: string): RoomWorld<Kind> {
  const directory = mkdtempSync(join(tmpdir(), prefix));
  const state: State = { children: new Set(), check: undefined, endings: [], findings: undefined };
  const world: RoomWorld<Kind> = {
    directory,
    keep(child) {
      state.children.add(child);
      void child.ended.catch(() => undefined).finally(() => state.children.delete(child));
      return child;
    },
    inspect(check) {
      state.check = check;
    },
    atEnd: (work) => void state.endings.push(work),
    close() {
      for (const { process } of state.children) process.kill('SIGKILL');
      for (const work of state.endings.splice(0).reverse()) work();
      rmSync(directory, { recursive: true, force: true });
    },
  };
  states.set(world, state);
  return world;
}

export function roomInspection<Kind extends string>(kinds: readonly Kind[]): Inspection<RoomWorld<Kind>> {
  return {
    kinds,
    async settle(world) {
      const state = states.get(world);
      for (const child of state?.children ?? []) {
        child.process.kill('SIGKILL');
        await child.ended;
      }
      if (state !== undefined) {
        state.findings = state.check?.();
        state.check = undefined;
      }
      for (const work of state?.endings.splice(0).reverse() ?? []) work();
    },
    losses: async (world) => states.get(world)?.findings?.lost ?? ['the try made no scene'],
    async leaks(world) {
      const findings = states.get(world)?.findings;
      return Object.fromEntries(kinds.map((kind) => [kind, findings?.[kind] ?? []]));
    },
    clear: async () => undefined,
  };
}
