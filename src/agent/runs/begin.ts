/** From a checked graph to a run with an owner: for the verb `start` and the tool. */
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { placeBelow } from '../../jobs/index.ts';
import { UsageError } from '../../lib/errors.ts';
import { createRun, type Graph, type HeldRun, launchOwner } from '../../runs/index.ts';
import type { RunContext } from './context.ts';
import { ownerProgramHere } from './owner-deps.ts';
import { type SettingOptions, settingsOf } from './settings.ts';

export interface BeginOptions extends SettingOptions {
  /** Where its steps work, if they do not say otherwise. */
  readonly cwd?: string;
}

/** @throws UsageError, DepthLimitError, RunError, OwnerStartError, FileError */
export async function beginRun(context: RunContext, graph: Graph, options: BeginOptions): Promise<HeldRun> {
  const { place, jobs, deps } = context;
  const held = await createRun(
    place,
    {
      graph,
      project: jobs.project,
      cwd: workingDirectory(jobs.directory, options.cwd),
      session: jobs.caller.session,
      below: placeBelow(jobs.caller, jobs.env, undefined),
      settings: settingsOf(options),
      schedule: null,
    },
    deps,
  );
  await launchOwner(held, { env: jobs.env, owner: ownerProgramHere() });
  return held;
}

function workingDirectory(from: string, given = '.'): string {
  const cwd = resolve(from, given);
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) return cwd;
  throw new UsageError(`there is no directory ${cwd}`);
}
