/** Where a text stops being JSON: Node's own message says so for some mistakes only, and quotes the file (S8). */

type Bracket = '[' | '{';
type State = 'value' | 'value or ]' | 'key or }' | 'key' | 'colon' | 'comma' | 'end';

/** One token: a mark, a string, or another literal, after any blanks. */
const BLANKS = /[ \t\n\r]*/y;
const TOKEN =
  /([{}[\],:])|("(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/uy;

export function positionAt(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split(/\r\n|\n|\r/);
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}

/** The offset of the first character that cannot continue a JSON text; its length when the text just ends too soon. */
export function errorOffset(text: string): number {
  const open: Bracket[] = [];
  let state: State = 'value';
  for (let offset = 0; ; ) {
    BLANKS.lastIndex = offset;
    BLANKS.exec(text);
    offset = BLANKS.lastIndex;
    TOKEN.lastIndex = offset;
    const match: RegExpExecArray | null = TOKEN.exec(text);
    if (match === null) return offset;
    const [, mark, string] = match;
    const next: State | undefined =
      mark === undefined ? afterValue(state, string !== undefined, open) : afterMark(state, mark, open);
    if (next === undefined) return offset;
    state = next;
    offset = TOKEN.lastIndex;
  }
}

function afterValue(state: State, isString: boolean, open: readonly Bracket[]): State | undefined {
  if (state === 'value' || state === 'value or ]') return complete(open);
  return isString && (state === 'key' || state === 'key or }') ? 'colon' : undefined;
}

function afterMark(state: State, mark: string, open: Bracket[]): State | undefined {
  const wantsValue = state === 'value' || state === 'value or ]';
  if (wantsValue && (mark === '{' || mark === '[')) {
    open.push(mark);
    return mark === '{' ? 'key or }' : 'value or ]';
  }
  if (state === 'colon') return mark === ':' ? 'value' : undefined;
  if (state === 'comma' && mark === ',') return open.at(-1) === '{' ? 'key' : 'value';
  const bracket = mark === ']' ? '[' : '{';
  const closes =
    (mark === ']' && (state === 'value or ]' || state === 'comma')) ||
    (mark === '}' && (state === 'key or }' || state === 'comma'));
  if (!closes || open.at(-1) !== bracket) return undefined;
  open.pop();
  return complete(open);
}

function complete(open: readonly Bracket[]): State {
  return open.length === 0 ? 'end' : 'comma';
}
