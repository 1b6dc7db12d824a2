/** What must not be shown: secrets in our output (S10), and terminal control in text that others wrote. */

const REDACTED = '[redacted]';
/** A shorter "secret" would blank out ordinary words. */
const MIN_SECRET = 6;

/** Keys that are recognised by their look. Each is one pass without backtracking over what it has read. */
const KEY_SHAPES: RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?/g,
  /\bsk-[\w-]{16,}/g,
  /\bgh[opsur]_\w{20,}/g,
  /\bgithub_pat_\w{20,}/g,
  /\bglpat-[\w-]{20,}/g,
  /\bxox[abeoprs]-[\w-]{10,}/g,
  /\bnpm_\w{30,}/g,
  /\bhf_\w{30,}/g,
  /\bA(?:KIA|SIA)[A-Z0-9]{16}\b/g,
  /\bAIza[\w-]{35}/g,
  /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/g,
];
/** Here only the part after the first group is secret. */
const AFTER_A_WORD: RegExp[] = [
  /(\b(?:Bearer|Basic)\s+)[\w+/.~=-]{8,}/gi,
  /(\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s:/@]{0,200}:)[^\s/@]{1,500}(?=@)/gi,
];

/**
 * A function that takes these values out of a text, in whatever form they tend to appear (as they are, in a URL, in
 * JSON, in base64 at any offset), and everything that looks like a well-known kind of key.
 */
export function redactor(secrets: readonly string[]): (text: string) => string {
  const forms = new Set(secrets.filter((secret) => secret.length >= MIN_SECRET).flatMap(formsOf));
  const longestFirst = [...forms].sort((a, b) => b.length - a.length);
  const known = longestFirst.length > 0 ? new RegExp(longestFirst.map(literally).join('|'), 'g') : undefined;
  return (text) => {
    let result = known ? text.replace(known, REDACTED) : text;
    for (const shape of KEY_SHAPES) result = result.replace(shape, REDACTED);
    for (const shape of AFTER_A_WORD) result = result.replace(shape, `$1${REDACTED}`);
    return result;
  };
}

function formsOf(secret: string): string[] {
  // A lone surrogate has no URL form.
  const url = encodeURIComponent(secret.replace(/\p{Cs}/gu, '\ufffd'));
  const lowerCaseUrl = url.replace(/%../g, (code) => code.toLowerCase());
  const base64 = [0, 1, 2].map((offset) => base64Inside(secret, offset));
  base64.push(Buffer.from(secret).toString('base64').replace(/=+$/, ''));
  const base64url = base64.map((form) => form.replaceAll('+', '-').replaceAll('/', '_'));
  const json = JSON.stringify(secret).slice(1, -1);
  return [secret, url, lowerCaseUrl, json, json.replaceAll('/', '\\/'), ...base64, ...base64url];
}

/** The characters that `secret` always has in base64 when `offset` (mod 3) bytes stand before it. */
function base64Inside(secret: string, offset: number): string {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]);
  return bytes.toString('base64').slice(Math.ceil((offset * 8) / 6), Math.floor((bytes.length * 8) / 6));
}

function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

const ESC = '(?:\\u001b';
const SEQUENCES = new RegExp(
  [
    // Operating system commands, device control, … with their text, if they end.
    `${ESC}[\\]P_^X]|[\\u009d\\u0090\\u009f\\u009e\\u0098])[^\\u0007\\u001b\\u009c]{0,4096}(?:\\u0007|\\u001b\\\\|\\u009c)`,
    // Colours, cursor, modes.
    `${ESC}\\[|\\u009b)[0-?]{0,64}[ -/]{0,8}[@-~]`,
    // Two- and three-character sequences.
    `${ESC})[ -/]{0,2}[0-Z\\\\^-~]`,
  ].join('|'),
  'gu',
);
/** Control characters, lone surrogates, line separators, and what turns the direction of text around. */
const INVISIBLE = /[\p{Cc}\p{Cs}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Text that somebody else wrote, made safe to print: an escape sequence or control character becomes one U+FFFD. A
 * line break or tab becomes a space, or stays with `lines`.
 */
export function safeForTerminal(text: string, { lines = false } = {}): string {
  return text.replace(SEQUENCES, '\ufffd').replace(INVISIBLE, (character) => {
    if (character === '\n' || character === '\t') return lines ? character : ' ';
    return '\ufffd';
  });
}
