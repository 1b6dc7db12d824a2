/**
 * Reads a git configuration as git does (S17). A reader that goes line by line can be led past a key: git takes a
 * second heading on one line, goes on with a value after a backslash at a line's end, and stops at no other line
 * separator. What git would refuse is passed over up to the line's end, so that nothing behind it is missed.
 */

const BLANK = /(?:\s+|[#;][^\n]*)+/y;
const HEADING = /\[([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\\n]|\\[^\n])*)")?\s*\]/y;
const NAME = /([A-Za-z][A-Za-z0-9-]*)[ \t]*(=?)/y;
const LINE = /[^\n]*/y;

/** Every `section.subsection.key`, key and section in lower case, with all its values as they are written, joined. */
export function gitConfigKeys(content: string): [string, string][] {
  const text = content.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  const found = new Map<string, string>();
  let section = '';
  let at = 0;
  const next = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const match = pattern.exec(text) ?? undefined;
    at += match?.[0].length ?? 0;
    return match;
  };
  while (at < text.length) {
    if (next(BLANK) !== undefined) continue;
    const heading = next(HEADING);
    if (heading !== undefined) {
      const [, name = '', subsection] = heading;
      section = subsection === undefined ? name.toLowerCase() : `${name.toLowerCase()}.${subsection}`;
      continue;
    }
    const pair = next(NAME);
    if (pair === undefined) {
      // Not blank, so at least one character is passed over.
      next(LINE);
      continue;
    }
    const end = pair[2] === '=' ? endOfValue(text, at) : at;
    const key = `${section}.${(pair[1] ?? '').toLowerCase()}`;
    if (section !== '') found.set(key, `${found.get(key) ?? ''}\n${text.slice(at, end).trim()}`);
    at = end;
  }
  return [...found];
}

/** Where a value ends: at a line's end or a comment, but for what is quoted or stands behind a backslash. */
function endOfValue(text: string, start: number): number {
  let quoted = false;
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (character === '\n') return at;
    if (character === '\\') at++;
    else if (character === '"') quoted = !quoted;
    else if (!quoted && (character === '#' || character === ';')) return at;
  }
  return text.length;
}
