/** Real pis with the tool `multi_agent`, on Sessions of their own (J12). */
import { resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { randomId } from '../../../src/lib/ids.ts';
import { openPiRpc, type PiMessage, type PiRpc, spawnPi, textOfMessage } from '../../../src/pi/index.ts';
import { builtProgram } from '../../setup/built-program.ts';
import { piCli } from '../../setup/pi.ts';
import type { CommandScene } from '../jobs/command/scene.ts';

let extension: string | undefined;

/** The extension as the build makes it. */
export function jobsExtension(): string {
  extension ??= builtProgram('src/agent/extensions/multi-agent.ts', [
    'src/agent/multi-agent-runner.ts',
    'src/agent/multi-agent-owner.ts',
    'src/agent/multi-agent-scheduler.ts',
    'src/agent/profiles',
  ]);
  return extension;
}

export interface OpenPi {
  /** Of the process. */
  pid: number;
  client: PiRpc;
  /** All that were finished in this pi. */
  messages: PiMessage[];
  /** Resolves when a message of that role holds the text. */
  message(role: string, text: string): Promise<PiMessage>;
}

/** A pi with the extension, on the Session of that name. */
export async function openPi(
  scene: CommandScene,
  session = 'one',
  more: NodeJS.ProcessEnv = {},
): Promise<OpenPi> {
  const process_ = await spawnPi({
    command: process.execPath,
    args: [
      piCli(),
      '--mode',
      'rpc',
      '--session',
      resolve(scene.top, `${session}.jsonl`),
      '-e',
      jobsExtension(),
    ],
    cwd: scene.project,
    env: { ...scene.env, PWD: scene.project, ...more },
  });
  const messages: PiMessage[] = [];
  const waiting = new Set<() => void>();
  const client = openPiRpc(process_, {
    clock: systemClock,
    ids: () => randomId(8),
    onEvent(event) {
      if (event.type === 'message_end') messages.push(event.message);
      for (const look of waiting) look();
    },
  });
  onTestFinished(async () => void (await client.stop()));
  await client.ready();
  return {
    pid: process_.pid,
    client,
    messages,
    message: (role, text) =>
      new Promise((resolve, reject) => {
        const told = (): string =>
          messages.map((message) => `${message.role}: ${textOfMessage(message)}`).join('\n');
        const late = setTimeout(() => reject(new Error(`waited too long for "${text}":\n${told()}`)), 30_000);
        const look = (): void => {
          const found = messages.find(
            (message) => message.role === role && textOfMessage(message).includes(text),
          );
          if (found === undefined) return;
          clearTimeout(late);
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
  };
}

/** Answers a prompt with one call of a tool, and its result with a text. */
export function calls(
  scene: CommandScene,
  prompt: string,
  name: string,
  parameters: object,
  text = 'noted',
): void {
  let asked = false;
  scene.model.answer(prompt, () => {
    if (asked) return { content: text };
    asked = true;
    return { toolCalls: [{ id: `call_${prompt.length}`, name, arguments: JSON.stringify(parameters) }] };
  });
}
