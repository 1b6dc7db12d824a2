/** Scripted processes in place of pi, for what real pi cannot be made to do: garbage, floods, hangs, half lines. */
import { systemClock } from '../../src/lib/clock.ts';
import { openPiRpc, type PiEvent, type PiRpc, type RpcLimits, spawnPi } from '../../src/pi/index.ts';

const PRELUDE = `
  const say = (value) => process.stdout.write(JSON.stringify(value) + '\\n');
  const settle = (text) => {
    say({ type: 'agent_start' });
    const message = { role: 'assistant', content: [{ type: 'text', text }], stopReason: 'stop' };
    say({ type: 'message_end', message });
    say({ type: 'agent_end', willRetry: false });
    say({ type: 'agent_settled', aborted: false });
  };
  const answer = (request, data) =>
    say({ id: request.id, type: 'response', command: request.type, success: true, data });
  const idle = { isStreaming: false, isCompacting: false, sessionId: 's', messageCount: 0, pendingMessageCount: 0 };
  const on = (handlers) => {
    const lines = require('node:readline').createInterface({ input: process.stdin });
    lines.on('line', (line) => {
      const request = JSON.parse(line);
      if (handlers[request.type]) handlers[request.type](request);
      else if (request.type === 'get_state') answer(request, idle);
    });
    lines.on('close', () => process.exit(0));
  };
`;

export interface FakePi {
  client: PiRpc;
  events: PiEvent[];
  /** Names of the errors that were reported as problems. */
  problems(): string[];
}

/** Arguments for Node that run `script` as pi, with `--mode rpc` and others behind them. */
export function scriptedPi(script: string): string[] {
  return ['-e', `${PRELUDE}${script}`, '--'];
}

/** Runs `script` as pi: it has `say(value)`, `answer(request, data)`, `settle(text)` and `on({ type: handler })`. */
export async function fakePi(
  script: string,
  { limits = {}, receive }: { limits?: Partial<RpcLimits>; receive?: (event: PiEvent) => Promise<void> } = {},
): Promise<FakePi> {
  const { PATH } = process.env;
  const child = await spawnPi({
    command: process.execPath,
    args: scriptedPi(script),
    cwd: '/',
    env: { PATH },
  });
  const events: PiEvent[] = [];
  let count = 0;
  const client = openPiRpc(child, {
    clock: systemClock,
    ids: () => `r${++count}`,
    onEvent: (event) => {
      events.push(event);
      return receive?.(event);
    },
    limits,
  });
  const names = (event: PiEvent): string[] => (event.type === 'problem' ? [event.error.name] : []);
  return { client, events, problems: () => events.flatMap(names) };
}
