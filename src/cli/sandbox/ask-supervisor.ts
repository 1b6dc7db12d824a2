import type { Engine } from '../../engine/index.ts';
import { type FrameConnection, type OpenRequest, SandboxStatus } from '../../wire/index.ts';
import { open, readToken } from './greeting.ts';
import { BRIDGE } from './open-sandbox.ts';

/** A supervisor that does not answer in this time is shown as such and not waited for (S15). */
const ANSWER_MS = 2_000;

/** Opens a connection to a running sandbox's supervisor; undefined when it does not answer. */
export async function askSupervisor(
  engine: Engine,
  container: string,
  request: OpenRequest,
): Promise<{ connection: FrameConnection; value: unknown } | undefined> {
  const session = await engine.containers.exec(container, { command: [BRIDGE] });
  if (session.outcome !== 'running') return undefined;
  session.stderr.resume();
  const timer = setTimeout(() => session.disconnect(), ANSWER_MS);
  const token = await readToken(session);
  const greeting =
    token === undefined ? undefined : await open(session, token, { request, onStatus: () => undefined });
  clearTimeout(timer);
  if (greeting?.answer === 'accepted') return { connection: greeting.connection, value: greeting.value };
  session.disconnect();
  return undefined;
}

/** What lives in a sandbox, or undefined when its supervisor does not answer. */
export async function statusOf(engine: Engine, container: string): Promise<SandboxStatus | undefined> {
  const answer = await askSupervisor(engine, container, { verb: 'status' }).catch(() => undefined);
  answer?.connection.destroy();
  const parsed = SandboxStatus.safeParse(answer?.value);
  return parsed.success ? parsed.data : undefined;
}
