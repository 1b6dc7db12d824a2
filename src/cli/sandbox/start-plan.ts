import type { Engine } from '../../engine/index.ts';
import type { Clock } from '../../lib/clock.ts';
import type { FrameConnection } from '../../wire/index.ts';
import type { ContainerOptions } from './container-spec.ts';
import type { Opening } from './greeting.ts';
import type { Sandbox } from './sandbox.ts';

/** What a start or shell needs to get into a project's sandbox, prepared in parallel (S14). */
export interface StartPlan {
  engine: Engine;
  sandbox: Sandbox;
  /** Ready when the project and its configuration have been read. */
  options: Promise<ContainerOptions>;
  /** Options given by the user that only a new container can take. */
  onlyForNew: readonly string[];
  network: 'open' | 'none';
  /** The image to run, its name known without asking the engine; worked out when first called, from a megabyte of files. */
  image: () => string;
  /** Builds the image; called when the engine does not have it. */
  buildImage: () => Promise<void>;
  /** The request with its configuration, ready some milliseconds after the engine was first asked. */
  opening: Promise<Opening>;
  clock: Clock;
  debug: (line: string) => void;
}

export interface OpenedSandbox {
  connection: FrameConnection;
  joined: boolean;
}

/** One try to get in: it worked, or why another is needed. */
export type Attempt = OpenedSandbox | { again: string };
