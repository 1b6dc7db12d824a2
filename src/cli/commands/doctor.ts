/** `pi-sandbox doctor` (S16). */
import { homedir } from 'node:os';
import { jsonText } from '../../lib/json-text.ts';
import { table } from '../../lib/table.ts';
import { examine } from '../doctor/examine.ts';
import type { GlobalOptions } from '../global-options.ts';

export interface DoctorOptions extends GlobalOptions {
  json?: boolean;
}

/** Checks this machine's side, with what to do for each row that is not ok. Exit code 1 if anything is a problem. */
export async function doctor(options: DoctorOptions): Promise<number> {
  const { rows, gaveUp } = await examine(options, process.env, process.env.HOME || homedir());
  const healthy = rows.every(({ result }) => result !== 'problem');
  if (options.json === true) {
    process.stdout.write(`${jsonText({ version: 1, ok: healthy, checks: rows }, 2)}\n`);
  } else {
    const lines = rows.map(({ check, result, detail, advice }) => [check, result, detail, advice]);
    process.stdout.write(table(['check', 'result', 'detail', 'what to do'], lines));
  }
  const code = healthy ? 0 : 1;
  // A request that the engine never answers would keep this process for as long as it takes.
  if (gaveUp) process.exit(code);
  return code;
}
