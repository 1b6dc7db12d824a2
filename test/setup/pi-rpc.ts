/** pi in RPC mode for tests: one request after the other, every line kept. */
import { createInterface } from 'node:readline';
import { type PiWorld, startPi, until } from './pi.ts';

export interface RpcPi {
  pid: number;
  /** Everything pi has said, responses and events. */
  lines: Record<string, unknown>[];
  errors(): string;
  request(command: Record<string, unknown>): Promise<Record<string, unknown>>;
  /** Sends a prompt and waits until the run has settled. */
  prompt(message: string): Promise<void>;
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Ends the input, which ends pi. */
  end(): Promise<void>;
}

export function startRpcPi(world: PiWorld, args: string[]): RpcPi {
  const child = startPi(world, ['--mode', 'rpc', ...args], 'pipe');
  const { stdin, stdout, stderr } = child;
  if (!stdin || !stdout || !stderr || child.pid === undefined) throw new Error('pi was not started');
  const lines: Record<string, unknown>[] = [];
  let errors = '';
  let ended = false;
  createInterface({ input: stdout }).on('line', (line) => lines.push(JSON.parse(line)));
  stderr.setEncoding('utf8').on('data', (chunk: string) => {
    errors += chunk;
  });
  stdin.on('error', () => {});
  const closed = new Promise<void>((resolve) =>
    child.once('exit', () => {
      ended = true;
      resolve();
    }),
  );
  let count = 0;
  const request: RpcPi['request'] = async (command) => {
    const id = `r${++count}`;
    stdin.write(`${JSON.stringify({ ...command, id })}\n`);
    const answer = () => lines.find((line) => line.type === 'response' && line.id === id);
    await until(`${String(command.type)} (${errors})`, () => ended || answer() !== undefined);
    return answer() ?? { success: false, error: `pi ended: ${errors}` };
  };
  return {
    pid: child.pid,
    lines,
    errors: () => errors,
    request,
    async prompt(message) {
      const settled = () => lines.filter((line) => line.type === 'agent_settled').length;
      const before = settled();
      const response = await request({ type: 'prompt', message });
      if (response.success !== true) throw new Error(JSON.stringify(response));
      await until('the run to settle', () => ended || settled() > before);
    },
    async kill(signal) {
      child.kill(signal);
      await closed;
    },
    async end() {
      stdin.end();
      await closed;
    },
  };
}
