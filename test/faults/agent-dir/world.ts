/** Where agent directories are tried: one directory, one scene after the other, and how each is looked at. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Inspection } from '../fault-case.ts';
import type { Child } from '../history/child.ts';

/** What a try must not have done, by kind. */
export const AGENT_DIR_KINDS = ['twice', 'moved wrongly', 'left over'] as const;
export type Findings = Record<'lost' | (typeof AGENT_DIR_KINDS)[number], string[]>;

export interface AgentDirWorld {
  readonly directory: string;
  /** It is ended with the try, if it has not ended by itself. */
  keep(child: Child): Child;
  /** How this try's directory is looked at when it has ended. */
  inspect(check: () => Findings): void;
  /** Called with the end of the try. */
  atEnd(work: () => void): void;
  close(): void;
}

interface State {
  children: Set<Child>;
  check: (() => Findings) | undefined;
  endings: (() => void)[];
  findings: Findings | undefined;
}

const states = new WeakMap<AgentDirWorld, State>();

export function openAgentDirWorld(): AgentDirWorld {
  const directory = mkdtempSync(join(tmpdir(), 'agent-dir-faults-'));
  const state: State = { children: new Set(), check: undefined, endings: [], findings: undefined };
  const world: AgentDirWorld = {
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

export const AGENT_DIR_INSPECTION: Inspection<AgentDirWorld> = {
  kinds: AGENT_DIR_KINDS,
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
    return Object.fromEntries(AGENT_DIR_KINDS.map((kind) => [kind, findings?.[kind] ?? []]));
  },
  clear: async () => undefined,
};
