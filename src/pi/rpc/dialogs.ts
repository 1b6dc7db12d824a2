/** Dialogs that an extension opens: pi waits for each answer, so that each gets one (J5). */
import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/errors.ts';
import { PiDialogError } from './errors.ts';
import type { PiDialogEvent } from './events.ts';

const METHODS = ['select', 'confirm', 'input', 'editor'] as const;
/** What pi only tells; its answers would be thrown away. */
const NOTICES = ['notify', 'setStatus', 'setWidget', 'setTitle', 'set_editor_text'];

export interface PiDialog {
  id: string;
  method: (typeof METHODS)[number];
  title: string;
  /** Of `confirm`. */
  message?: string | undefined;
  /** Of `select`. */
  options?: readonly string[] | undefined;
  /** Of `input`. */
  placeholder?: string | undefined;
  /** Of `editor`. */
  prefill?: string | undefined;
  /** Milliseconds after which pi answers for itself. */
  timeoutMs?: number | undefined;
}

/** `value` for select, input and editor, `confirmed` for confirm, `cancelled` for any. */
export type PiDialogAnswer = { value: string } | { confirmed: boolean } | { cancelled: true };

/**
 * Answers a dialog, whenever it likes. The signal tells that nobody waits any more: pi answered for itself, the turn
 * was aborted, or pi is gone.
 */
export type DialogHandler = (dialog: PiDialog, signal: AbortSignal) => Promise<PiDialogAnswer>;

export interface Dialogs {
  /** Resolves when more may be read: at once where a handler was asked, else when the answer is written. */
  take(event: PiDialogEvent): Promise<void>;
  /** Those that wait for an answer, in the order they came. */
  open(): PiDialog[];
  /** Answers all that are open with `cancelled`, and all that come until `end` has settled. */
  cancelUntil(end: Promise<unknown>): void;
  /** pi is gone: nothing is answered any more, and handlers are told so. */
  withdrawAll(): void;
}

export interface DialogsOptions {
  send(value: object): Promise<void>;
  clock: Clock;
  handler?: DialogHandler | undefined;
  /** More open at once are answered `cancelled`. */
  most: number;
  onProblem(error: PiDialogError): void;
}

const CANCELLED: PiDialogAnswer = { cancelled: true };

export function openDialogs({ send, clock, handler, most, onProblem }: DialogsOptions): Dialogs {
  const open = new Map<string, { dialog: PiDialog; withdrawn: AbortController }>();

  let cancelling = 0;

  function withdraw(why: string): string[] {
    const ids = [...open.keys()];
    for (const { withdrawn } of open.values()) withdrawn.abort(new Error(why));
    open.clear();
    return ids;
  }

  function answer(id: string, given: PiDialogAnswer): Promise<void> {
    return send({ type: 'extension_ui_response', id, ...given });
  }

  async function ask(dialog: PiDialog, handle: DialogHandler): Promise<void> {
    const withdrawn = new AbortController();
    open.set(dialog.id, { dialog, withdrawn });
    const expired =
      dialog.timeoutMs === undefined ? undefined : clock.sleep(dialog.timeoutMs, withdrawn.signal);
    expired?.then(
      () => {
        open.delete(dialog.id);
        withdrawn.abort(new Error('pi has answered for itself'));
      },
      () => {},
    );
    const given = await answerOf(dialog, handle, withdrawn.signal);
    open.delete(dialog.id);
    if (withdrawn.signal.aborted) return;
    withdrawn.abort(new Error('it is answered'));
    await answer(dialog.id, given);
  }

  async function answerOf(
    dialog: PiDialog,
    handle: DialogHandler,
    signal: AbortSignal,
  ): Promise<PiDialogAnswer> {
    try {
      const withdrawal = new Promise<PiDialogAnswer>((resolve) => {
        signal.addEventListener('abort', () => resolve(CANCELLED), { once: true });
      });
      const given = await Promise.race([handle(dialog, signal), withdrawal]);
      if (fits(dialog, given)) return given;
      onProblem(new PiDialogError(dialog.method, 'it was given an answer of another kind'));
    } catch (error) {
      onProblem(new PiDialogError(dialog.method, `its handler failed: ${messageOf(error)}`));
    }
    return CANCELLED;
  }

  return {
    async take(event) {
      if (NOTICES.includes(event.method)) return;
      const dialog = dialogOf(event);
      // One of a kind that is not known may wait as well; pi ignores an answer that it does not wait for.
      if (!dialog || !handler || cancelling > 0 || open.size >= most) await answer(event.id, CANCELLED);
      else void ask(dialog, handler).catch(() => {});
    },
    open: () => [...open.values()].map(({ dialog }) => dialog),
    cancelUntil(end) {
      cancelling++;
      const over = (): void => void cancelling--;
      end.then(over, over);
      for (const id of withdraw('the turn is aborted')) void answer(id, CANCELLED).catch(() => {});
    },
    withdrawAll: () => void withdraw('pi is gone'),
  };
}

function dialogOf(event: PiDialogEvent): PiDialog | undefined {
  const method = METHODS.find((name) => name === event.method);
  if (method === undefined) return undefined;
  const { id, title = '', message, options, placeholder, prefill, timeout: timeoutMs } = event;
  return { id, method, title, message, options, placeholder, prefill, timeoutMs };
}

function fits({ method }: PiDialog, answer: PiDialogAnswer): boolean {
  return 'cancelled' in answer || 'confirmed' in answer === (method === 'confirm');
}
