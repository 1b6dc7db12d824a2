/** Real pi behind our RPC client, with the scripted model server and nothing of the machine around it. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/lib/clock.ts';
import { randomId } from '../../src/lib/ids.ts';
import { openPiRpc, type PiEvent, type PiRpc, type PiRpcOptions, spawnPi } from '../../src/pi/index.ts';
import { type ModelServer, modelServer } from './model-server.ts';
import { piCli } from './pi.ts';

export interface StartOptions extends Partial<PiRpcOptions> {
  args?: string[];
  env?: NodeJS.ProcessEnv;
  /** TypeScript of an extension to load. */
  extension?: string;
}

export interface Started {
  client: PiRpc;
  /** Everything that the receiver was handed. */
  events: PiEvent[];
  types(): string[];
}

export interface RpcWorld {
  model: ModelServer;
  project: string;
  /** Content of the global settings file. */
  settings(): string;
  start(options?: StartOptions): Promise<Started>;
  /** Ends every pi of this world and removes its files. */
  stop(): Promise<void>;
}

export async function rpcWorld(settings: object = {}): Promise<RpcWorld> {
  const directory = mkdtempSync(join(tmpdir(), 'pi-rpc-'));
  const model = await modelServer();
  const at = (name: string): string => {
    mkdirSync(join(directory, name), { recursive: true });
    return join(directory, name);
  };
  const [agent, project] = [at('agent'), at('project')];
  const settingsFile = join(agent, 'settings.json');
  writeFileSync(join(agent, 'models.json'), model.models);
  writeFileSync(settingsFile, JSON.stringify({ ...JSON.parse(model.settings), ...settings }));
  const env = {
    PATH: process.env.PATH,
    HOME: at('home'),
    LANG: 'C.UTF-8',
    PI_CODING_AGENT_DIR: agent,
    PI_OFFLINE: '1',
    PI_TELEMETRY: '0',
    PI_SKIP_VERSION_CHECK: '1',
  };
  const clients: PiRpc[] = [];

  return {
    model,
    project,
    settings: () => readFileSync(settingsFile, 'utf8'),
    async start({ args = [], env: more, extension, onEvent, ...options } = {}) {
      const extensions: string[] = [];
      if (extension !== undefined) {
        const file = join(directory, `extension-${clients.length}.ts`);
        writeFileSync(file, extension);
        extensions.push('-e', file);
      }
      const pi = await spawnPi({
        command: process.execPath,
        args: [piCli(), '--mode', 'rpc', '--no-session', ...extensions, ...args],
        cwd: project,
        env: { ...env, ...more },
      });
      const events: PiEvent[] = [];
      const client = openPiRpc(pi, {
        clock: systemClock,
        ids: () => randomId(8),
        onEvent: (event) => {
          events.push(event);
          return onEvent?.(event);
        },
        ...options,
      });
      clients.push(client);
      return { client, events, types: () => events.map(({ type }) => type) };
    },
    async stop() {
      await Promise.all(clients.map((client) => client.stop()));
      await model.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
