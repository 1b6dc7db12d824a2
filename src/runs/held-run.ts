import type { FileLock } from '../lib/kernel-lock.ts';
import type { Manifest } from './manifest.ts';
import type { RunDirectory, RunsPlace } from './places.ts';
import type { RunState } from './status-file.ts';

/** A run whose lock this process holds: made, or taken over. Whoever has it may write its files, or hands it to an owner. */
export interface HeldRun {
  readonly place: RunsPlace;
  readonly directory: RunDirectory;
  readonly manifest: Manifest;
  readonly state: RunState;
  readonly lock: FileLock;
}
