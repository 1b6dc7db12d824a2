import { describe, expect, it } from 'vitest';
import { TerminalModes } from '../../../src/cli/sandbox/terminal-modes.ts';

const ESC = '\u001b';

function after(...pieces: string[]): string {
  const modes = new TerminalModes();
  for (const piece of pieces) modes.see(Buffer.from(piece, 'latin1'));
  return modes.end();
}

describe('terminal modes', () => {
  it('S20: nothing is written for a program that has tidied up itself', () => {
    expect(after('plain text')).toBe('');
    expect(after(`${ESC}[?1049h${ESC}[?2004h${ESC}[?25l`, `${ESC}[?25h${ESC}[?2004l${ESC}[?1049l`)).toBe('');
  });

  it('S20: what a killed program left set is ended, the alternate screen last', () => {
    const end = after(`${ESC}[?1049h${ESC}[?1000;1006h${ESC}[?2004h${ESC}[?25l`);
    for (const mode of ['1000', '1006', '2004']) expect(end).toContain(`${ESC}[?${mode}l`);
    expect(end.indexOf(`${ESC}[?1049l`)).toBeGreaterThan(end.indexOf(`${ESC}[?2004l`));
    expect(end).toContain(`${ESC}[?25h`);
  });

  it('S20: a sequence that is split between two pieces counts, and counts once', () => {
    expect(after(`text${ESC}[?20`, '04h more')).toContain(`${ESC}[?2004l`);
    expect(after(`${ESC}[>1`, 'u', 'x', 'y')).toContain(`${ESC}[<1u`);
  });

  it('S20: keyboard protocols are popped as often as they were pushed', () => {
    expect(after(`${ESC}[>1u${ESC}[>3u`)).toContain(`${ESC}[<2u`);
    expect(after(`${ESC}[>1u${ESC}[<u`)).toBe('');
    expect(after(`${ESC}[>4;2m`)).toContain(`${ESC}[>4;0m`);
  });

  it('S20: modes that change nothing for the user afterwards are left alone', () => {
    expect(after(`${ESC}[?7h${ESC}[?12h`)).toBe('');
  });
});
