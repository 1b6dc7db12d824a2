/**
 * What the demo model says (S23): a fixed script over what the conversation holds, so that the same project gives the
 * same answer every time. It looks at the sandbox through pi's real tools and writes nothing.
 */
import type { Message } from '../../pi/index.ts';

/** One answer: text, and perhaps one tool to run before the next. */
export interface Reply {
  text: string;
  call?: { name: 'bash' | 'read'; arguments: Record<string, unknown> };
}

/** Seconds that a command typed after `run` may take. */
const RUN_SECONDS = 60;
/** Characters of a tool's output that an answer repeats. */
const SHOWN = 2_000;
const MOST_FILES = 50;

const LOOK = [
  'echo "directory: $PWD"',
  'echo "user: $(id -un) ($(id -u):$(id -g))"',
  'echo "system: $(uname -s) $(uname -m)"',
  `echo "root: $(awk '$2 == "/" { print $4 }' /proc/mounts 2>/dev/null | tail -n 1 | cut -d, -f1)"`,
  `echo "capabilities: $(awk '$1 == "CapEff:" { print $2 }' /proc/self/status 2>/dev/null)"`,
  'echo "files:"',
  `ls -1 | head -n ${MOST_FILES}`,
].join('\n');

/** The demo model's next answer to this conversation. */
export function nextReply(messages: readonly Message[]): Reply {
  const asked = messages.findLastIndex((message) => message.role === 'user');
  const prompt = textOf(messages[asked]).trim();
  const results = messages.slice(asked + 1).filter((message) => message.role === 'toolResult');
  const tools = currentTools(messages);
  const run = /^run:?\s+(\S[\s\S]*)$/i.exec(prompt)?.[1];
  if (run !== undefined) return runCommand(run, results, tools);
  const file = /^read:?\s+(\S.*)$/i.exec(prompt)?.[1];
  if (file !== undefined) return readFile(file.trim(), results, tools);
  return lookAround(results, tools);
}

function runCommand(command: string, results: readonly Message[], tools: ReadonlySet<string>): Reply {
  const result = results.at(-1);
  if (result)
    return { text: `Exactly what you typed was run in this sandbox. It answered:\n\n${quoted(result)}` };
  if (!tools.has('bash')) return { text: missing('bash') };
  return {
    text: 'I am a demo model: I run what you typed, in this sandbox, and nothing else.',
    call: { name: 'bash', arguments: { command, timeout: RUN_SECONDS } },
  };
}

function readFile(path: string, results: readonly Message[], tools: ReadonlySet<string>): Reply {
  const result = results.at(-1);
  if (result?.isError) return { text: `${path} could not be read:\n\n${quoted(result)}` };
  if (result) {
    const content = textOf(result);
    return { text: `${path} has ${content.split('\n').length} lines. It begins:\n\n${quoted(result)}` };
  }
  if (!tools.has('read')) return { text: missing('read') };
  return { text: `I read ${path}.`, call: { name: 'read', arguments: { path } } };
}

function lookAround(results: readonly Message[], tools: ReadonlySet<string>): Reply {
  const [look, readme] = results;
  if (!look) {
    if (!tools.has('bash')) return { text: `${INTRODUCTION} ${missing('bash')}` };
    return {
      text: `${INTRODUCTION} The tools I use are real, so let me look around.`,
      call: { name: 'bash', arguments: { command: LOOK, timeout: RUN_SECONDS } },
    };
  }
  if (look.isError) return { text: `Looking around failed:\n\n${quoted(look)}` };
  const seen = parseLook(textOf(look));
  if (!readme && tools.has('read') && seen.files.includes('README.md')) {
    return {
      text: 'There is a README.md; I read it.',
      call: { name: 'read', arguments: { path: 'README.md' } },
    };
  }
  return { text: summary(seen, readme) };
}

const INTRODUCTION =
  'This is the demo model: a fixed script inside the sandbox, not a real model. It needs no login and no network.';

interface Seen {
  facts: Map<string, string>;
  files: string[];
}

function parseLook(output: string): Seen {
  const facts = new Map<string, string>();
  const lines = output.split('\n');
  const start = lines.indexOf('files:');
  for (const line of lines.slice(0, start === -1 ? lines.length : start)) {
    const found = /^([a-z]+): (.*)$/.exec(line);
    if (found?.[1] !== undefined && found[2] !== undefined) facts.set(found[1], found[2]);
  }
  const listed = start === -1 ? [] : lines.slice(start + 1);
  return { facts, files: listed.filter((line) => line !== '').slice(0, MOST_FILES) };
}

function summary({ facts, files }: Seen, readme: Message | undefined): string {
  const lines = ['What I saw with real tool calls:', ''];
  lines.push(`- I am in ${facts.get('directory') ?? 'an unknown directory'}, with ${describeFiles(files)}.`);
  lines.push(
    `- I run as ${facts.get('user') ?? 'an unknown user'} on ${facts.get('system') ?? 'this system'}.`,
  );
  lines.push(`- ${describeRoot(facts.get('root'))}`);
  const capabilities = facts.get('capabilities');
  if (capabilities !== undefined) {
    const none = /^0+$/.test(capabilities);
    lines.push(none ? '- I have no capabilities.' : `- I hold capabilities (mask ${capabilities}).`);
  }
  const title = readme && !readme.isError ? firstHeading(textOf(readme)) : undefined;
  if (title !== undefined) lines.push(`- README.md begins with "${title}".`);
  return `${lines.join('\n')}\n\n${NEXT_STEPS}`;
}

const NEXT_STEPS = [
  'I am the demo model, a script and not a real model, and I changed no file. What to do next:',
  '',
  '- Type `run <command>` or `read <file>` to try the sandbox yourself.',
  '- Start pi on your own project with `pi-sandbox start <your project>`, and there',
  '- sign in to a real model with `/login`, or describe your own in `models.json`.',
].join('\n');

function describeFiles(files: readonly string[]): string {
  if (files.length === 0) return 'no files';
  if (files.length === 1) return `one entry: ${files[0]}`;
  return `${files.length} entries: ${files.join(', ')}`;
}

function describeRoot(option: string | undefined): string {
  if (option === 'ro')
    return 'The root file system is read-only: only the project and the sandbox state can change.';
  if (option === 'rw') return 'The root file system is writable, so this is not a locked-down sandbox.';
  return 'How the root file system is mounted could not be seen.';
}

function firstHeading(markdown: string): string | undefined {
  const line = markdown.split('\n').find((candidate) => candidate.trim() !== '');
  return line
    ?.replace(/^#+\s*/, '')
    .trim()
    .slice(0, 100);
}

function missing(tool: string): string {
  return `The ${tool} tool is switched off, so I can show nothing. Start without --no-tools to see more.`;
}

function quoted(result: Message): string {
  const content = textOf(result).trimEnd();
  const shown =
    content.length > SHOWN ? `${content.slice(0, SHOWN)}\n… (${content.length} characters in all)` : content;
  // A fence longer than any in the content, so that the content cannot end it.
  const longest = Math.max(2, ...[...shown.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${shown === '' ? '(nothing)' : shown}\n${fence}`;
}

function textOf(message: Message | undefined): string {
  const content = message?.content;
  if (typeof content === 'string') return content;
  return (content ?? []).map((block) => ('text' in block ? block.text : '')).join('');
}

/** The tools that the transcript's system messages leave declared. */
function currentTools(messages: readonly Message[]): Set<string> {
  const tools = new Set<string>();
  for (const message of messages) {
    if (message.role !== 'system') continue;
    for (const { name } of message.toolsRemoved ?? []) tools.delete(name);
    for (const { name } of message.toolsAdded ?? []) tools.add(name);
  }
  return tools;
}
