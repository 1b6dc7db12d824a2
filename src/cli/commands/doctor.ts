/** `pi-sandbox doctor` (S16, W12). */
import { homedir } from 'node:os';
import { jsonText } from '../../lib/json-text.ts';
import { table } from '../../lib/table.ts';
import { AGENT_DIRECTORY, type ChosenProject } from '../doctor/check-agent-dir.ts';
import { examine } from '../doctor/examine.ts';
import type { Row } from '../doctor/row.ts';
import type { GlobalOptions } from '../global-options.ts';
import { resolveProject } from '../sandbox/project.ts';

export interface DoctorOptions extends GlobalOptions {
  domain?: string;
  json?: boolean;
}

/**
 * Checks this machine's side, with what to do for each row that is not ok; with a project also the agent directory of its
 * sandbox. Exit code 1 if anything is a problem, or something lies in the agent directory that does not belong there.
 */
export async function doctor(argument: string | undefined, options: DoctorOptions): Promise<number> {
  const home = process.env.HOME || homedir();
  const chosen = await projectOf(argument, options, home);
  const { rows, gaveUp } = await examine(options, process.env, home, chosen);
  const healthy = rows.every(({ result }) => result !== 'problem');
  if (options.json === true) {
    process.stdout.write(`${jsonText({ version: 1, ok: healthy, checks: rows }, 2)}\n`);
  } else {
    const lines = rows.map(({ check, result, detail, advice }) => [check, result, detail, advice]);
    process.stdout.write(table(['check', 'result', 'detail', 'what to do'], lines));
  }
  const code = healthy && !rows.some(isStraggler) ? 0 : 1;
  // A request that the engine never answers would keep this process for as long as it takes.
  if (gaveUp) process.exit(code);
  return code;
}

function isStraggler({ check, result }: Row): boolean {
  return check === AGENT_DIRECTORY && result === 'warning';
}

/** Without one, and without `--domain`, no sandbox is looked at. */
async function projectOf(
  argument: string | undefined,
  { domain }: DoctorOptions,
  home: string,
): Promise<ChosenProject | undefined> {
  if (argument === undefined && domain === undefined) return undefined;
  return { project: await resolveProject(argument, { cwd: process.cwd(), home }), domain, env: process.env };
}
