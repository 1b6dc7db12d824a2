/**
 * The demo model (S23): a provider `demo` with the model `demo-1`, which needs no key, no login and no network. What
 * it says is in `demo-script.ts`; here it is spoken the way pi expects of a provider.
 */
import type {
  AssistantMessage,
  ChatModel,
  ExtensionApi,
  MessageStream,
  StreamOptions,
} from '../../pi/index.ts';
import { nextReply, type Reply } from './demo-script.ts';
import { makeMessageStream } from './demo-stream.ts';

/** Between two words in a terminal, so that one sees the answer being written. Programs get it at once. */
const WORD_MS = 12;

export default function demoModel(pi: ExtensionApi): void {
  let wordMs = 0;
  pi.on('session_start', (_event, context) => {
    wordMs = context.mode === 'tui' ? WORD_MS : 0;
    return undefined;
  });
  pi.registerProvider('demo', {
    name: 'Demo (not a real model)',
    baseUrl: 'demo://offline',
    // pi selects no provider without a key; this one is read by nobody.
    apiKey: 'none-needed',
    api: 'pi-sandbox-demo',
    models: [
      {
        id: 'demo-1',
        name: 'Demo model (a script, not a real model)',
        reasoning: false,
        input: ['text'],
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
        contextWindow: 200_000,
        maxTokens: 8_192,
      },
    ],
    streamSimple(model, { messages }, options) {
      const stream = makeMessageStream();
      void speak(stream, model, () => nextReply(messages), { wordMs, call: messages.length }, options);
      return stream;
    },
  });
}

interface Manner {
  wordMs: number;
  /** Makes the tool call's id differ from every earlier one of the conversation. */
  call: number;
}

/** Plays one reply into the stream. Ends it in every case, because pi waits for that end. */
async function speak(
  stream: MessageStream,
  model: ChatModel,
  reply: () => Reply,
  manner: Manner,
  options: StreamOptions = {},
): Promise<void> {
  const message = emptyMessage(model);
  try {
    await options.onPayload?.({ model: model.id }, model);
    options.signal?.throwIfAborted();
    await options.onResponse?.({ status: 200, headers: {} }, model);
    stream.push({ type: 'start', partial: message });
    const { text, call } = reply();
    await speakText(stream, message, text, manner.wordMs, options.signal);
    if (call) pushCall(stream, message, `demo_${manner.call}`, call);
    const reason = call ? 'toolUse' : 'stop';
    message.stopReason = reason;
    stream.push({ type: 'done', reason, message });
  } catch (error) {
    const reason = options.signal?.aborted ? 'aborted' : 'error';
    message.stopReason = reason;
    message.errorMessage = error instanceof Error ? error.message : String(error);
    stream.push({ type: 'error', reason, error: message });
  } finally {
    stream.end();
  }
}

async function speakText(
  stream: MessageStream,
  message: AssistantMessage,
  text: string,
  wordMs: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const contentIndex = message.content.length;
  const block = { type: 'text' as const, text: '' };
  message.content.push(block);
  stream.push({ type: 'text_start', contentIndex, partial: message });
  for (const delta of text.split(/(?<=\s)/)) {
    signal?.throwIfAborted();
    block.text += delta;
    stream.push({ type: 'text_delta', contentIndex, delta, partial: message });
    if (wordMs > 0) await new Promise((resolve) => setTimeout(resolve, wordMs));
  }
  stream.push({ type: 'text_end', contentIndex, content: text, partial: message });
}

function pushCall(
  stream: MessageStream,
  message: AssistantMessage,
  id: string,
  call: NonNullable<Reply['call']>,
): void {
  const contentIndex = message.content.length;
  const toolCall = { type: 'toolCall' as const, id, name: call.name, arguments: call.arguments };
  message.content.push(toolCall);
  stream.push({ type: 'toolcall_start', contentIndex, partial: message });
  const delta = JSON.stringify(call.arguments);
  stream.push({ type: 'toolcall_delta', contentIndex, delta, partial: message });
  stream.push({ type: 'toolcall_end', contentIndex, toolCall, partial: message });
}

function emptyMessage(model: ChatModel): AssistantMessage {
  return {
    role: 'assistant',
    content: [],
    api: model.api,
    provider: model.provider,
    model: model.id,
    usage: {
      input: 0,
      output: 0,
      cacheRead: 0,
      cacheWrite: 0,
      totalTokens: 0,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
    },
    stopReason: 'pending',
    timestamp: Date.now(),
  };
}
