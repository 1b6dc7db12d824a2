/** Where histories are tried: one directory, one scene after the other, and how each is looked at. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Inspection } from '../fault-case.ts';
import type { Random } from '../random.ts';
import { check, type Findings, HISTORY_KINDS } from './checker.ts';
import type { Child } from './child.ts';
import { makeScene, removeScene, type Scene, type SceneOptions } from './scene.ts';

export interface HistoryWorld {
  readonly directory: string;
  /** The try's own; the one before is removed. */
  scene(random: Random, options?: SceneOptions): Scene;
  /** It is ended with the try, if it has not ended by itself. */
  keep(child: Child): Child;
  /** Called with the end of the try, before its directory is removed. */
  atEnd(work: () => void): void;
  close(): void;
}

interface State {
  scene: Scene | undefined;
  children: Set<Child>;
  endings: (() => void)[];
  findings: Findings | undefined;
}

const states = new WeakMap<HistoryWorld, State>();

export function openHistoryWorld(): HistoryWorld {
  const directory = mkdtempSync(join(tmpdir(), 'history-faults-'));
  const state: State = { scene: undefined, children: new Set(), endings: [], findings: undefined };
  const world: HistoryWorld = {
    directory,
    scene(random, options) {
      if (state.scene) removeScene(state.scene);
      state.findings = undefined;
      state.scene = makeScene(directory, random, options);
      return state.scene;
    },
    keep(child) {
      state.children.add(child);
      void child.ended.catch(() => undefined).finally(() => state.children.delete(child));
      return child;
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

export const HISTORY_INSPECTION: Inspection<HistoryWorld> = {
  kinds: HISTORY_KINDS,
  async settle(world) {
    const state = states.get(world);
    for (const child of state?.children ?? []) {
      child.process.kill('SIGKILL');
      await child.ended;
    }
    if (state?.scene) state.findings = check(state.scene);
    for (const work of state?.endings.splice(0).reverse() ?? []) work();
  },
  losses: async (world) => states.get(world)?.findings?.lost ?? ['the try made no scene'],
  async leaks(world) {
    const findings = states.get(world)?.findings;
    return Object.fromEntries(HISTORY_KINDS.map((kind) => [kind, findings?.[kind] ?? []]));
  },
  clear: async () => undefined,
};
