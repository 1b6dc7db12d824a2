import { UsageError } from '../../lib/errors.ts';
import { ANSWER_MS, collectErrors, noAnswer, open, readToken } from './greeting.ts';
import type { Attempt, StartPlan } from './start-plan.ts';

/** Begins what an attempt to join says of itself. */
export const JOIN = 'join: ';
/** Reaches the supervisor from an exec. */
export const BRIDGE = '/opt/pi-sandbox/bin/bridge';

/** Asks a running container's supervisor; `again` when there is none, or it is about to end. */
export async function join(
  plan: Pick<StartPlan, 'engine' | 'sandbox' | 'opening' | 'onlyForNew'>,
): Promise<Attempt> {
  const { engine, sandbox, onlyForNew } = plan;
  const session = await engine.containers.exec(sandbox.name, { command: [BRIDGE] });
  if (session.outcome !== 'running') return { again: `${JOIN}${session.message}` };
  const errors = collectErrors(session);
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    session.disconnect();
  }, ANSWER_MS);
  const token = await readToken(session);
  clearTimeout(timer);
  if (token === undefined) {
    session.disconnect();
    if (late) throw noAnswer(ANSWER_MS);
    return { again: `${JOIN}${errors()}` };
  }
  if (onlyForNew.length > 0) {
    session.disconnect();
    throw new UsageError(
      `the sandbox of ${sandbox.project.display} is running, and ${onlyForNew.join(', ')} can be given to a new one only`,
      {
        hint: `pi-sandbox stop ${sandbox.project.display}`,
      },
    );
  }
  const greeting = await open(session, token, await plan.opening);
  if (greeting.answer !== 'accepted') return { again: `${JOIN}${greeting.answer}` };
  return { connection: greeting.connection, joined: true };
}
