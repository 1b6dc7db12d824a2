/** How a job's pi is started: its arguments and its environment (J4, J8). */
import { existsSync } from 'node:fs';
import { piEnvironment } from '../../agent-dir/index.ts';
import type { PiCommand } from '../../pi/index.ts';
import { jobFile } from '../files.ts';
import type { HeldJob } from '../held-job.ts';
import { DEPTH_VARIABLE, DETACHED_VARIABLE, JOB_VARIABLE } from '../hunt/marks.ts';

/** The program and what stands before pi's own arguments. */
export interface PiProgram {
  readonly command: string;
  readonly args: readonly string[];
}

export function piCommand(
  { directory, record, place }: HeldJob,
  program: PiProgram,
  env: NodeJS.ProcessEnv,
): PiCommand {
  const prompts = (
    [
      ['--system-prompt', 'system-prompt.md'],
      ['--append-system-prompt', 'append-prompt.md'],
    ] as const
  ).flatMap(([option, name]) => {
    const path = jobFile(directory, name);
    return existsSync(path) ? [option, path] : [];
  });
  const { [DETACHED_VARIABLE]: _mark, ...inherited } = env;
  return {
    command: program.command,
    args: [...program.args, '--mode', 'rpc', '--session', record.session, ...prompts, ...record.piArgs],
    cwd: record.realCwd,
    env: {
      ...inherited,
      ...piEnvironment(place.agentDir),
      [JOB_VARIABLE]: directory,
      [DEPTH_VARIABLE]: String(record.depth),
      PI_MINIMAL_PERMISSION_SYSTEM_NONINTERACTIVE: '1',
      PWD: record.cwd,
    },
  };
}
