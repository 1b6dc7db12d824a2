import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { readRegularFile } from '../../lib/bounded-read.ts';
import { TERMINAL_NAME, type TerminalDescription } from '../../wire/index.ts';

/** What the image's own database has (S20). */
const WELL_KNOWN =
  /^(xterm|xterm-(256color|color|mono|vt220|xfree86|r[56])|screen.*|tmux|tmux-256color|linux|vt\d+|rxvt.*|ansi|dumb)$/;
const MAX_BYTES = 32 * 1024;
const SYSTEM = ['/etc/terminfo', '/lib/terminfo', '/usr/share/terminfo', '/usr/local/share/terminfo'];

/**
 * The compiled description of the user's terminal, for one that the image does not know, such as `xterm-kitty`: editors and
 * pagers in the sandbox would refuse to run without it (S20). Undefined where nothing is needed or to be found.
 */
export async function terminalDescription(
  env: NodeJS.ProcessEnv,
  home: string,
): Promise<TerminalDescription | undefined> {
  const name = env.TERM ?? '';
  if (!TERMINAL_NAME.test(name) || WELL_KNOWN.test(name)) return undefined;
  const own = [env.TERMINFO, join(home, '.terminfo'), ...(env.TERMINFO_DIRS ?? '').split(':')];
  const directories = [...own.filter((directory) => directory?.startsWith('/')), ...SYSTEM];
  const first = name.slice(0, 1);
  for (const directory of directories) {
    // The directory is named by the letter, or, where case does not count in file names, by its number.
    for (const letter of [first, first.charCodeAt(0).toString(16)]) {
      const content = await compiled(join(directory ?? '', letter, name));
      if (content !== undefined) return { name, content: content.toString('base64') };
    }
  }
  return undefined;
}

async function compiled(path: string): Promise<Buffer | undefined> {
  try {
    // Databases link one name of a terminal to another.
    return await readRegularFile(await realpath(path), { maxBytes: MAX_BYTES });
  } catch {
    return undefined;
  }
}
