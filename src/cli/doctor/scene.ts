/** What the doctor's checks look at. */
import type { Engine, EngineInfo } from '../../engine/index.ts';
import type { Config } from '../config/index.ts';

/** An engine that answers. */
export interface EngineScene {
  readonly engine: Engine;
  readonly info: EngineInfo;
  /** The engine's clock minus this machine's in milliseconds, as far as it is certain; undefined when it tells none. */
  readonly clockAheadMs: number | undefined;
  readonly now: number;
}

/** And a configuration; where something in that is bad, its default. */
export interface Scene extends EngineScene {
  readonly config: Config;
}

/** The engine's own command, for advice. */
export function engineCommand({ info }: Pick<Scene, 'info'>): 'docker' | 'podman' {
  return info.isPodman ? 'podman' : 'docker';
}

/**
 * How far the engine's clock is off at least: its time was told some time between `before` and `after`.
 */
export function clockDifference(told: number | undefined, before: number, after: number): number | undefined {
  if (told === undefined) return undefined;
  if (told < before) return told - before;
  return told > after ? told - after : 0;
}
