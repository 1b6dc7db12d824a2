import type { OwnerDeps } from '../../runs/index.ts';
import { beside } from '../jobs/context.ts';
import type { RunContext } from './context.ts';

/** Means of whoever does to an orphan what its owner would do (R6). */
export function ownerDeps({ jobs, deps }: RunContext): OwnerDeps {
  const { clock, identity } = deps;
  return {
    clock,
    identity,
    env: jobs.env,
    // The build puts both beside this program.
    runner: { command: process.execPath, args: [beside('multi-agent-runner.mjs')] },
    shippedProfiles: beside('profiles'),
  };
}

/** Node, and the program that owns a run. */
export function ownerProgramHere(): { command: string; args: string[] } {
  return { command: process.execPath, args: [beside('multi-agent-owner.mjs')] };
}
