/**
 * The text of one Session in pi's own format (header v3, a tree of entries), made up from chance alone. It shares no
 * code with the product, so that a mistake there is not made here too.
 */
import type { Random } from '../faults/random.ts';

export interface SessionText {
  id: string;
  cwd: string;
  started: Date;
  /** Of the last entry. */
  ended: Date;
  /** About so many bytes; what is needed for a header and a question is written anyway. */
  size: number;
  name?: string;
  /** The file that it was forked from. */
  parentSession?: string;
}

/** Words of a megabyte, cut at random places: JSON.stringify of made-up prose for 50 MB would take minutes. */
const PROSE = prose();
const TOOLS = ['bash', 'read', 'edit', 'write'] as const;
const LONGEST_RESULT = 48 * 1024;

function prose(): string {
  const words =
    'the build fails when cache is cold so we read it again and naïve größer 日本語 "quoted" \\path\\to\ttab line\nnext {brace: 1} 🚀 retry lock volume session'.split(
      ' ',
    );
  let state = 7;
  let text = '';
  while (text.length < 1024 * 1024) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    text += `${words[state % words.length]} `;
  }
  return text;
}

function someText(random: Random, length: number): string {
  const most = Math.min(length, PROSE.length / 2);
  const start = random.below(PROSE.length - most);
  return PROSE.slice(start, start + most);
}

const hex8 = (random: Random): string =>
  random
    .below(2 ** 32)
    .toString(16)
    .padStart(8, '0');

/** Piece after piece, each some whole lines, so that a long Session is never held as one string. */
export function* sessionText(session: SessionText, random: Random): Generator<string> {
  const { id, cwd, started, ended, size, name, parentSession } = session;
  const header = { type: 'session', version: 3, id, timestamp: started.toISOString(), cwd };
  const first = `${JSON.stringify(parentSession === undefined ? header : { ...header, parentSession })}\n`;
  let written = Buffer.byteLength(first);
  const ids: string[] = [];
  /** 0 to 1 of the way from start to end. */
  const line: Line = (type, fields, at = Math.min(1, written / size)) => {
    const entry = hex8(random);
    const time = new Date(started.getTime() + Math.floor((ended.getTime() - started.getTime()) * at));
    const base = { type, id: entry, parentId: ids.at(-1) ?? null, timestamp: time.toISOString() };
    ids.push(entry);
    const dated =
      'message' in fields ? { message: { ...fields.message, timestamp: time.getTime() } } : fields;
    const text = `${JSON.stringify({ ...base, ...dated })}\n`;
    written += Buffer.byteLength(text);
    return text;
  };
  let opening = first;
  if (name !== undefined) opening += line('session_info', { name }, 0);
  if (size > 1_000) {
    opening += line('model_change', { provider: 'fake', modelId: 'fake-1' }, 0);
    opening += line('thinking_level_change', { thinkingLevel: 'off' }, 0);
  }
  if (size > 16_000) opening += line('message', { message: systemMessage(cwd) }, 0);
  yield opening;
  for (;;) {
    const room = size - written;
    const last = room < 3_000;
    yield turn(random, line, Math.max(200, Math.min(LONGEST_RESULT, room)), last);
    if (last) return;
    if (random.below(30) === 0) yield extra(random, line, ids);
    // A branch: the next question hangs on an entry further back, as after going back in pi's tree.
    if (random.below(25) === 0) ids.push(ids[random.below(ids.length)] ?? '');
    if (ids.length > 2_000) ids.splice(0, 1_000);
  }
}

type Line = (type: string, fields: object | { message: object }, at?: number) => string;

function turn(random: Random, line: Line, room: number, last: boolean): string {
  const at = last ? 1 : undefined;
  let text = line('message', { message: question(someText(random, 20 + random.below(200))) }, at);
  if (room > 1_500 && !last) {
    const tool = random.pick(TOOLS);
    const call = `call_${hex8(random)}`;
    const block = { type: 'toolCall', id: call, name: tool, arguments: toolArguments(tool, random) };
    text += line('message', { message: answer([block], 'toolUse') });
    const result = someText(random, Math.floor(room * random.fraction() ** 2));
    text += line('message', {
      message: {
        role: 'toolResult',
        toolCallId: call,
        toolName: tool,
        content: [{ type: 'text', text: result }],
        isError: random.below(20) === 0,
        durationMs: random.below(5_000),
      },
    });
  }
  if (room > 700)
    text += line(
      'message',
      { message: answer([{ type: 'text', text: someText(random, 40 + random.below(300)) }], 'stop') },
      at,
    );
  return text;
}

function question(text: string): object {
  return { role: 'user', content: [{ type: 'text', text }] };
}

function answer(content: object[], stopReason: string): object {
  const cost = { input: 0.001, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.001 };
  const usage = { input: 600, output: 20, cacheRead: 0, cacheWrite: 0, totalTokens: 620, cost };
  const model = { api: 'openai-completions', provider: 'fake', model: 'fake-1' };
  return { role: 'assistant', content, ...model, usage, stopReason };
}

function toolArguments(tool: (typeof TOOLS)[number], random: Random): object {
  const path = `src/${hex8(random)}.ts`;
  if (tool === 'bash') return { command: `grep -rn "${hex8(random)}" src | head` };
  if (tool === 'read') return { path };
  if (tool === 'write') return { path, content: someText(random, 400) };
  return { path, edits: [{ oldText: someText(random, 60), newText: someText(random, 80) }] };
}

function systemMessage(cwd: string): object {
  const tools = TOOLS.map((name) => ({ name, description: PROSE.slice(0, 900), parameters: {} }));
  const sections = { preamble: 'You are a coding assistant.', cwd: `<cwd>\n${cwd}\n</cwd>` };
  return { role: 'system', content: '', sections, toolsAdded: tools };
}

/** The rarer entries of a long Session. */
function extra(random: Random, line: Line, ids: readonly string[]): string {
  const earlier = ids[random.below(ids.length)] ?? '';
  const kind = random.below(6);
  if (kind === 0)
    return line('compaction', {
      summary: someText(random, 2_000),
      firstKeptEntryId: earlier,
      tokensBefore: 90_000,
      details: { readFiles: ['README.md'], modifiedFiles: [] },
    });
  if (kind === 1) return line('branch_summary', { fromId: earlier, summary: someText(random, 500) });
  if (kind === 2) return line('label', { targetId: earlier, label: someText(random, 12) });
  if (kind === 3) return line('custom', { customType: 'note', data: { text: someText(random, 80) } });
  if (kind === 4) return line('model_change', { provider: 'fake', modelId: 'fake-2' });
  const run = { role: 'bashExecution', command: 'ls', output: someText(random, 300), exitCode: 0 };
  return line('message', { message: { ...run, cancelled: false, truncated: false } });
}
