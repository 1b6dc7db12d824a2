/** A scripted model server that containers reach, and pi's configuration for it: the one fake in the e2e tests. */
import { networkInterfaces } from 'node:os';
import { type FixtureResponse, LLMock } from '@copilotkit/aimock';

export interface ModelServer {
  readonly url: string;
  /** For the configuration's `models.json` and `settings.json`. */
  readonly models: string;
  readonly settings: string;
  /** Answers every prompt that holds `prompt` with a text. */
  say(prompt: string, text: string): void;
  /** Answers it with one bash call, and what that returned with a text. */
  callBash(prompt: string, command: string, text: string): void;
  /** Answers it with an error of the provider. */
  fail(prompt: string, status: number, message: string): void;
  /** Answers each request whose last prompt holds `prompt` with what `respond` gives. */
  answer(prompt: string | RegExp, respond: () => FixtureResponse): void;
  /** The bodies of the requests so far. */
  requests(): unknown[];
  /** Headers of the last request. */
  lastHeaders(): Record<string, string>;
  stop(): Promise<void>;
}

/** An address of this machine that a container on any network reaches, unlike its loopback's. */
export function hostAddress(): string {
  const found = Object.values(networkInterfaces())
    .flat()
    .find((address) => address?.family === 'IPv4' && !address.internal);
  if (found === undefined) throw new Error('this test needs an IPv4 address other than loopback');
  return found.address;
}

export async function modelServer(): Promise<ModelServer> {
  const mock = new LLMock({ host: '0.0.0.0', port: 0, strict: true });
  await mock.start();
  const url = `http://${hostAddress()}:${mock.port}/v1`;
  const model = { id: 'fake-1', name: 'Fake', input: ['text'], contextWindow: 32_000, maxTokens: 4_096 };
  const provider = {
    name: 'Fake',
    baseUrl: url,
    api: 'openai-completions',
    apiKey: 'dummy',
    models: [model],
  };
  return {
    url,
    models: JSON.stringify({ providers: { fake: provider } }),
    settings: JSON.stringify({ defaultProvider: 'fake', defaultModel: 'fake-1', retry: { enabled: false } }),
    say: (prompt, text) => void mock.on({ userMessage: prompt }, { content: text }),
    callBash(prompt, command, text) {
      const call = { id: 'call_1', name: 'bash', arguments: JSON.stringify({ command }) };
      mock.on({ userMessage: prompt, hasToolResult: true }, { content: text });
      mock.on({ userMessage: prompt, hasToolResult: false }, { toolCalls: [call] });
    },
    fail: (prompt, status, message) =>
      void mock.on({ userMessage: prompt }, { error: { message, type: 'fake_error' }, status }),
    answer: (prompt, respond) => void mock.on({ userMessage: prompt }, respond),
    requests: () => mock.getRequests().map(({ body }) => body),
    lastHeaders: () => mock.getLastRequest()?.headers ?? {},
    stop: () => mock.stop(),
  };
}
