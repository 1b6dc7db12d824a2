/** How whoever reads our output calls this program (J13): on the host that is `pi-sandbox jobs <project>`. */
const VARIABLE = 'PI_SANDBOX_JOBS_COMMAND';
const MOST_CHARACTERS = 5_000;

/** Read once, and gone then: the jobs that this process starts must not take it for theirs. */
export const CALLED_AS = take(process.env);

function take(env: NodeJS.ProcessEnv): string {
  const given = env[VARIABLE];
  delete env[VARIABLE];
  const usable = given !== undefined && given !== '' && given.length <= MOST_CHARACTERS;
  return usable ? given : 'multi-agent';
}
