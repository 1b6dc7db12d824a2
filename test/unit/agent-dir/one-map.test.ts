/**
 * The rule of W9: every path in an agent directory comes from src/agent-dir. By type, so that it holds under whatever
 * name such a directory is handed on; a new writer that joins a path itself fails here.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';

const MAP = 'src/agent-dir/';
const JOINS = new Set(['join', 'resolve', 'normalize', 'concat']);
/** As a path, not as a word in a sentence or an option's help. */
const SPELLED = /^[^\s"]*\.pi\/agent(?:\/[^\s]*)?$/;
const VARIABLES = /^PI_(?:ADAPTATIVE_)?CODING_AGENT_DIR$/;

/** Each place of the given files that spells a path in an agent directory by hand: `file:line reason`. */
function handRolled(files: readonly string[], host?: ts.CompilerHost): string[] {
  const { config } = ts.readConfigFile('tsconfig.json', ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, process.cwd());
  const program = ts.createProgram([...files], options, host);
  const checker = program.getTypeChecker();
  const found: string[] = [];
  for (const file of files) {
    const source = program.getSourceFile(file);
    if (source === undefined) throw new Error(`${file} was not read`);
    const visit = (node: ts.Node): void => {
      const reason = reasonAgainst(node, checker);
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      if (reason !== undefined) found.push(`${file}:${line + 1} ${reason}`);
      node.forEachChild(visit);
    };
    visit(source);
  }
  return found;
}

function reasonAgainst(node: ts.Node, checker: ts.TypeChecker): string | undefined {
  const isDirectory = (part: ts.Node): boolean => isAgentDir(checker.getTypeAtLocation(part));
  if (ts.isStringLiteralLike(node) && SPELLED.test(node.text)) return `spells ${node.text}`;
  if (ts.isTemplateExpression(node)) {
    const joined = node.templateSpans.some(
      ({ expression, literal }) => literal.text.startsWith('/') && isDirectory(expression),
    );
    const texts = [node.head, ...node.templateSpans.map(({ literal }) => literal)];
    if (texts.some(({ text }) => SPELLED.test(text))) return 'spells .pi/agent';
    return joined ? 'joins a path in a template' : undefined;
  }
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) {
    return isDirectory(node.left) ? 'joins a path with +' : undefined;
  }
  if (ts.isCallExpression(node)) {
    const { expression } = node;
    const name = ts.isPropertyAccessExpression(expression) ? expression.name.text : expression.getText();
    if (JOINS.has(name) && node.arguments.some(isDirectory)) return `joins a path with ${name}()`;
    const [, entry] = node.arguments;
    if (name === 'rootEntry' && entry !== undefined && ts.isStringLiteralLike(entry))
      return `names ${entry.text}, which needs an accessor`;
    return undefined;
  }
  if (ts.isPropertyAccessExpression(node) && VARIABLES.test(node.name.text)) return `reads ${node.name.text}`;
  return undefined;
}

function isAgentDir(type: ts.Type): boolean {
  if (type.isUnion()) return type.types.some(isAgentDir);
  return type.isIntersection() && type.aliasSymbol?.name === 'AgentDir';
}

function sourceFiles(): string[] {
  return readdirSync('src', { recursive: true, encoding: 'utf8' })
    .map((name) => join('src', name))
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts') && !name.startsWith(MAP));
}

/** The rule's verdict on one file beside the real sources. */
function verdictOn(text: string): string[] {
  const name = 'src/cli/probe.ts';
  const host = ts.createCompilerHost({});
  const { getSourceFile, fileExists, readFile } = host;
  host.getSourceFile = (file, ...rest) =>
    file === name
      ? ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
      : getSourceFile(file, ...rest);
  host.fileExists = (file) => file === name || fileExists(file);
  host.readFile = (file) => (file === name ? text : readFile(file));
  return handRolled([name], host).map((line) => line.slice(`${name}:`.length));
}

describe('W9: one map of the agent directory', () => {
  test('W9: no source file outside src/agent-dir spells a path in an agent directory', () => {
    expect(handRolled(sourceFiles())).toEqual([]);
  }, 60_000);

  test('W9: a path joined by hand in any of the usual ways is found', () => {
    const text = `import { join } from 'node:path';
import { agentDirAt, getAgentDir, type AgentDir, rootEntry } from '../agent-dir/index.ts';
const where = agentDirAt('/x');
export const a = join(where, 'state');
export const b = \`\${where}/state\`;
export const c = where + '/state';
export const d = join(getAgentDir({ env: {}, home: '/h', cwd: '/' }), 'cache');
export const e = (given: AgentDir | undefined) => \`\${given}/bin\`;
export const f = '/home/pi/.pi/agent/sessions';
export const g = process.env.PI_CODING_AGENT_DIR;
export const h = rootEntry(where, 'straggler.json');
export const allowed = \`\${where}: not a directory\`;
`;
    expect(verdictOn(text)).toEqual([
      '4 joins a path with join()',
      '5 joins a path in a template',
      '6 joins a path with +',
      '7 joins a path with join()',
      '8 joins a path in a template',
      '9 spells /home/pi/.pi/agent/sessions',
      '10 reads PI_CODING_AGENT_DIR',
      '11 names straggler.json, which needs an accessor',
    ]);
  }, 60_000);
});
