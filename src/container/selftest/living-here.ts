/** Asks this sandbox's supervisor what lives here, as the host does. */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { pathsOf, type Roots } from '../../agent-dir/index.ts';
import { FrameConnection, PROTOCOL, SandboxStatus } from '../../wire/index.ts';

const ANSWER_MS = 5_000;

/** True when the supervisor lists the Session as living. */
export async function isPresent(roots: Roots, session: string): Promise<boolean> {
  const { socket, token } = pathsOf(roots);
  const connection = new FrameConnection(connect(socket));
  const timer = setTimeout(() => connection.destroy(), ANSWER_MS);
  try {
    const hello = {
      protocol: PROTOCOL,
      version: PI_SANDBOX_VERSION,
      token: readFileSync(token, 'utf8').trim(),
    };
    connection.send({ type: 'hello', value: hello });
    connection.send({ type: 'open', value: { verb: 'status' } });
    for (let frame = await connection.read(); frame !== undefined; frame = await connection.read()) {
      if (frame.type !== 'reply') continue;
      const value = frame.value.answer === 'accepted' ? frame.value.value : undefined;
      const { data } = SandboxStatus.safeParse(value);
      return data?.living.some(({ kind, id }) => kind === 'session' && id === session) === true;
    }
    return false;
  } finally {
    clearTimeout(timer);
    connection.destroy();
  }
}
