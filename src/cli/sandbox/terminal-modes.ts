const ESC = '\u001b';
/** Private modes: `?1049h`, `?1000;1006l`. */
const SET_OR_RESET = new RegExp(`${ESC}\\[\\?([\\d;]+)([hl])`, 'g');
/** Keyboard protocols: pushed levels (`>1u`, `<u`) and modified keys (`>4;1m`, `>4;0m`). */
const KEYBOARD = new RegExp(`${ESC}\\[(?:>(\\d+)u|(<)(\\d*)u|>4;(\\d)m)`, 'g');
/** Longer sequences are none of these; so much of a chunk's end is looked at again with the next. */
const TAIL = 40;
/** Shown again and not hidden when a program ends: the other way round from the rest. */
const CURSOR = '25';
const RESTORED = new Set([
  '1',
  '9',
  '1000',
  '1001',
  '1002',
  '1003',
  '1004',
  '1005',
  '1006',
  '1015',
  '1016',
  '2004',
  '2026',
  '2031',
  '2048',
  '1049',
  '1047',
  '47',
]);

/**
 * Remembers which modes a program has set on the user's terminal, so that they can be ended for it when it was killed
 * or the connection broke (S20): alternate screen, mouse, focus, bracketed paste, keyboard protocols, hidden cursor.
 */
export class TerminalModes {
  private readonly set = new Set<string>();
  private cursorHidden = false;
  private keyboardLevels = 0;
  private modifiedKeys = false;
  private tail = '';

  /** Takes note of output on its way to the terminal; a sequence may be split between two pieces. */
  see(bytes: Uint8Array): void {
    const fresh = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
    const text = this.tail + fresh;
    const before = this.tail.length;
    for (const match of text.matchAll(SET_OR_RESET)) {
      if (match.index + match[0].length <= before) continue;
      for (const mode of (match[1] ?? '').split(';')) this.note(mode, match[2] === 'h');
    }
    for (const match of text.matchAll(KEYBOARD)) {
      if (match.index + match[0].length <= before) continue;
      if (match[1] !== undefined) this.keyboardLevels++;
      else if (match[2] !== undefined)
        this.keyboardLevels = Math.max(0, this.keyboardLevels - Number(match[3] || 1));
      else this.modifiedKeys = match[4] !== '0';
    }
    this.tail = text.slice(-TAIL);
  }

  /** What to write to the terminal to end what is still set; empty when the program has tidied up itself. */
  end(): string {
    const keyboard =
      (this.keyboardLevels > 0 ? `${ESC}[<${this.keyboardLevels}u` : '') +
      (this.modifiedKeys ? `${ESC}[>4;0m` : '');
    // The alternate screen last: what follows is written where the user's prompt will be.
    const modes = [...this.set].sort((a, b) => Number(isScreen(a)) - Number(isScreen(b)));
    const ended =
      modes.map((mode) => `${ESC}[?${mode}l`).join('') + (this.cursorHidden ? `${ESC}[?${CURSOR}h` : '');
    const all = keyboard + ended;
    return all === '' ? '' : `${all}${ESC}[0m\r\n${ESC}[J`;
  }

  private note(mode: string, on: boolean): void {
    if (mode === CURSOR) this.cursorHidden = !on;
    else if (!RESTORED.has(mode)) return;
    else if (on) this.set.add(mode);
    else this.set.delete(mode);
  }
}

function isScreen(mode: string): boolean {
  return mode === '1049' || mode === '1047' || mode === '47';
}
