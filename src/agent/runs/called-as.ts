/** How whoever reads our output calls these verbs: on the host that is `pi-sandbox runs <project>`. */
import { CALLED_AS } from '../jobs/called-as.ts';

const VARIABLE = 'PI_SANDBOX_RUNS_COMMAND';
const MOST_CHARACTERS = 5_000;

/** Read once, and gone then: what this process starts must not take it for its own. */
export const RUNS_CALLED_AS = take(process.env);

function take(env: NodeJS.ProcessEnv): string {
  const given = env[VARIABLE];
  delete env[VARIABLE];
  const usable = given !== undefined && given !== '' && given.length <= MOST_CHARACTERS;
  return usable ? given : `${CALLED_AS} runs`;
}

/** A command that a text names, as its reader calls it. */
export function asCalled(text: string): string {
  return text.replaceAll('multi-agent runs', RUNS_CALLED_AS);
}

/** The commands that lead on from a run. */
export function commandsForRun(id: string): { status_cmd: string; show_cmd: string } {
  return { status_cmd: `${RUNS_CALLED_AS} status ${id}`, show_cmd: `${RUNS_CALLED_AS} show ${id} --follow` };
}
