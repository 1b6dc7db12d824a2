/**
 * The event stream that pi reads a provider's answer from. It is our own because an extension that imports pi's
 * modules is no longer loaded by Node itself but transformed first, which costs a fresh container half a second.
 */
import type { AssistantMessage, MessageStream, StreamEvent } from '../../pi/index.ts';

/** Events are kept until they are read; the final message is also the promise `result()`. */
export function makeMessageStream(): MessageStream {
  const queue: StreamEvent[] = [];
  let finish: (message: AssistantMessage) => void = () => {};
  const result = new Promise<AssistantMessage>((resolve) => {
    finish = resolve;
  });
  let ended = false;
  let wake: (() => void) | undefined;
  const notify = (): void => {
    wake?.();
    wake = undefined;
  };
  return {
    push(event) {
      if (ended) return;
      queue.push(event);
      if (event.type === 'done') finish(event.message);
      if (event.type === 'error') finish(event.error);
      notify();
    },
    end() {
      ended = true;
      notify();
    },
    result: () => result,
    async *[Symbol.asyncIterator]() {
      for (;;) {
        const event = queue.shift();
        if (event) {
          yield event;
        } else if (ended) {
          return;
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    },
  };
}
