/** Dialogs of a job: cancelled, or kept open until somebody answers (J5). */
import type { DialogHandler, PiDialog, PiDialogAnswer, PiDialogEvent } from '../../pi/index.ts';
import type { ControlAnswer, ControlDialog } from '../control/protocol.ts';
import { problem } from '../control/server.ts';
import { dialogText, type Progress } from './progress-lines.ts';

const ASKING = ['select', 'confirm', 'input', 'editor'];

export interface Questions {
  /** For pi's client; without one it cancels every dialog. */
  readonly handler: DialogHandler | undefined;
  /** Each dialog that pi opens, before the handler is asked. */
  see(event: PiDialogEvent): void;
  /** The dialog with this id, else the oldest one, gets the value. */
  answer(id: string | undefined, value: string): ControlAnswer;
  open(): ControlDialog[];
  /** Dialogs that were cancelled because nobody is there. */
  readonly cancelled: number;
}

export interface QuestionsOptions {
  readonly ask: boolean;
  tell(progress: Progress): void;
  /** How many are open now. */
  onCount(open: number): void;
}

interface Open {
  readonly dialog: PiDialog;
  resolve(answer: PiDialogAnswer): void;
}

export function openQuestions({ ask, tell, onCount }: QuestionsOptions): Questions {
  const open = new Map<string, Open>();
  let cancelled = 0;

  const handler: DialogHandler = (dialog, signal) => {
    tell({ kind: 'dialog', text: `${dialogText(dialog)} waits for an answer` });
    return new Promise((resolve) => {
      open.set(dialog.id, { dialog, resolve });
      signal.addEventListener('abort', () => close(dialog, 'is closed without an answer'), { once: true });
      onCount(open.size);
    });
  };

  function close(dialog: PiDialog, how: string): void {
    if (!open.delete(dialog.id)) return;
    tell({ kind: 'dialog', text: `${dialogText(dialog)} ${how}` });
    onCount(open.size);
  }

  return {
    handler: ask ? handler : undefined,
    see(event) {
      if (ask || !ASKING.includes(event.method)) return;
      cancelled++;
      tell({ kind: 'dialog', text: `${dialogText(event)} is cancelled: nobody is there to answer` });
    },
    answer(id, value) {
      const found = id === undefined ? open.values().next().value : open.get(id);
      if (!found)
        return problem('no-dialog', id === undefined ? 'no dialog is open' : `no dialog ${id} is open`);
      const answer = answerFor(found.dialog, value);
      if (typeof answer === 'string') return problem('bad-answer', answer);
      close(found.dialog, `is answered: ${value}`);
      found.resolve(answer);
      return { ok: true };
    },
    open: () => [...open.values()].map(({ dialog }) => toldDialog(dialog)),
    get cancelled() {
      return cancelled;
    },
  };
}

const CONFIRMS = new Map([
  ...['yes', 'y', 'true', 'ok'].map((word) => [word, true] as const),
  ...['no', 'n', 'false'].map((word) => [word, false] as const),
]);

/** What a value means in a dialog, or why it means nothing. */
export function answerFor({ method, options = [] }: PiDialog, value: string): PiDialogAnswer | string {
  switch (method) {
    case 'confirm': {
      const confirmed = CONFIRMS.get(value.trim().toLowerCase());
      return confirmed === undefined ? 'answer yes or no' : { confirmed };
    }
    case 'select': {
      // An option may itself be a number: what it says goes before its place.
      if (options.includes(value)) return { value };
      const option = /^[1-9]\d*$/.test(value) ? options[Number(value) - 1] : undefined;
      if (option !== undefined) return { value: option };
      return `answer with one of the ${options.length} options, or its number`;
    }
    case 'input':
    case 'editor':
      return { value };
  }
}

function toldDialog({ id, method, title, message, options, placeholder, prefill }: PiDialog): ControlDialog {
  return {
    id,
    method,
    title,
    ...(message !== undefined && { message }),
    ...(options !== undefined && { options: [...options] }),
    ...(placeholder !== undefined && { placeholder }),
    ...(prefill !== undefined && { prefill }),
  };
}
