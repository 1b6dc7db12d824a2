/** One line for each thing that a job does, for people who peek at it (J6). */
import { safeForTerminal } from '../../lib/redact.ts';
import { type PiDialogEvent, type PiEvent, type PiMessage, textOfMessage } from '../../pi/index.ts';

export type ProgressKind =
  /** A run begins or ends. */
  | 'run'
  | 'tool'
  | 'text'
  | 'error'
  | 'retry'
  | 'compact'
  | 'dialog'
  /** Something was put in while it ran. */
  | 'steer'
  /** What an extension tells. */
  | 'note'
  | 'warning';

export interface Progress {
  readonly kind: ProgressKind;
  readonly text: string;
}

const MAX_TEXT = 500;

/** `<time> <kind> <text>`: one line, whatever the text holds. */
export function progressLine(time: Date, { kind, text }: Progress): string {
  return `${time.toISOString()} ${kind} ${oneLine(text)}`;
}

/** As a line of a bounded length that no terminal obeys. */
function oneLine(text: string): string {
  // Cut first: what is thrown away need not be looked through.
  const line = safeForTerminal(text.slice(0, 4 * MAX_TEXT).replace(/\s+/g, ' ')).trim();
  const characters = [...line];
  const cut = characters.length > MAX_TEXT || text.length > 4 * MAX_TEXT;
  return cut ? `${characters.slice(0, MAX_TEXT).join('')} …` : line;
}

/** What is told of an event; most are not worth a line. Dialogs are told by who answers them. */
export function progressOf(event: PiEvent): Progress | undefined {
  switch (event.type) {
    case 'tool_execution_start':
      return { kind: 'tool', text: `${event.toolName}: ${argumentText(event.args)}` };
    case 'tool_execution_end':
      return event.isError
        ? { kind: 'error', text: `${event.toolName}: ${resultText(event.result)}` }
        : undefined;
    case 'message_end':
      return event.message.role === 'assistant' ? messageProgress(event.message) : undefined;
    case 'auto_retry_start':
      return {
        kind: 'retry',
        text: `${event.attempt} of ${event.maxAttempts} in ${event.delayMs / 1_000} s: ${event.errorMessage ?? ''}`,
      };
    case 'compaction_start':
      return {
        kind: 'compact',
        text: `the conversation is shortened (${event.reason ?? 'no reason given'})`,
      };
    case 'compaction_end':
      return event.errorMessage === undefined ? undefined : { kind: 'error', text: event.errorMessage };
    case 'extension_error':
      return {
        kind: 'error',
        text: `an extension failed (${event.extensionPath ?? '?'}): ${event.error ?? ''}`,
      };
    case 'extension_ui_request':
      return event.method === 'notify' ? { kind: 'note', text: event.message ?? '' } : undefined;
    case 'problem':
      return { kind: 'error', text: event.error.message };
    default:
      return undefined;
  }
}

/** As it stands in a line: `confirm "Really?"`. */
export function dialogText({
  method,
  title = '',
  message,
}: Pick<PiDialogEvent, 'method' | 'title' | 'message'>) {
  const more = message === undefined ? '' : ` (${message.slice(0, MAX_TEXT / 2)})`;
  return `${method} ${JSON.stringify(title.slice(0, MAX_TEXT / 2))}${more}`;
}

function messageProgress(message: PiMessage): Progress | undefined {
  if (message.stopReason === 'error')
    return { kind: 'error', text: message.errorMessage ?? 'no reason given' };
  const text = textOfMessage(message);
  return text.trim() === '' ? undefined : { kind: 'text', text };
}

/** The argument that says most, else all of them. */
function argumentText(args: unknown): string {
  if (typeof args !== 'object' || args === null) return '';
  const told: unknown = Reflect.get(args, 'command') ?? Reflect.get(args, 'path');
  return typeof told === 'string' ? told : JSON.stringify(args);
}

function resultText(result: unknown): string {
  if (typeof result === 'string') return result;
  const content: unknown =
    typeof result === 'object' && result !== null ? Reflect.get(result, 'content') : undefined;
  if (!Array.isArray(content)) return 'failed';
  const texts = content.flatMap((block: unknown) => {
    const text: unknown =
      typeof block === 'object' && block !== null ? Reflect.get(block, 'text') : undefined;
    return typeof text === 'string' ? [text] : [];
  });
  return texts.join(' ') || 'failed';
}
