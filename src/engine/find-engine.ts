import { connectTo } from './connection.ts';
import { addressOf } from './endpoint.ts';
import { connectionError, connectionProblem, NoEngineFoundError } from './errors.ts';
import { type Candidate, type EngineSearch, STRATEGIES } from './strategies.ts';

const NONE_HINT =
  'install Docker Engine or Podman, start it, or name one with --engine <docker context, unix:///path, tcp://host:port or ssh://user@host>';

/**
 * The first engine that the strategies find (S19). A socket that accepts a connection is enough: whether its daemon
 * answers shows with the first real call, which costs no round trip of its own.
 * @throws EngineConnectionError when the one the user named does not accept connections
 * @throws NoEngineFoundError listing everything tried
 */
export async function findEngine(search: EngineSearch): Promise<Candidate> {
  const tried: string[] = [];
  for (const strategy of STRATEGIES) {
    const candidates = await strategy.candidates(search);
    if (candidates.length === 0) tried.push(`${strategy.name}: not set`);
    for (const candidate of candidates) {
      const problem = await problemOf(candidate);
      if (problem === undefined) return candidate;
      tried.push(`${candidate.strategy}: ${problem}`);
    }
  }
  throw new NoEngineFoundError(
    `no container engine found. Tried:\n${tried.map((line) => `  ${line}`).join('\n')}`,
    {
      hint: NONE_HINT,
    },
  );
}

/** Why a candidate can't be used, or undefined. What is far away is not probed: its first call tells. */
async function problemOf(candidate: Candidate): Promise<string | undefined> {
  const { endpoint, strategy, explicit } = candidate;
  if (endpoint.kind !== 'unix') return undefined;
  try {
    const socket = await connectTo(endpoint);
    socket.destroy();
    return undefined;
  } catch (error) {
    if (explicit) throw connectionError(addressOf(endpoint), strategy, error);
    const { message, hint } = connectionProblem(addressOf(endpoint), error);
    return message.startsWith('permission') && hint ? `${message} (${hint})` : message;
  }
}
