import { expect, it } from 'vitest';
import { consentEntries } from '../../../src/cli/config/project-level.ts';

const questionFor = (server: { command: string; args?: string[]; env?: Record<string, string> }) =>
  consentEntries({ mcpServers: { docs: server } }, 'mcp-server').entries[0]?.item.summary ?? '';

it('S8: the question shows the whole command that an MCP server would run', () => {
  const args = [
    '-y',
    '@scope/a-package-with-a-name-long-enough-to-fill-one-line-of-a-terminal',
    '&&',
    'evil',
  ];
  expect(questionFor({ command: 'npx', args })).toMatch(/: runs npx -y @scope\S+ && evil$/);
});

it('S8: and the variables that would change what the command does', () => {
  expect(questionFor({ command: 'node', env: { NODE_OPTIONS: '--require ./evil.js' } })).toContain(
    'NODE_OPTIONS=--require ./evil.js node',
  );
});

it('S8: what is too long to be shown is not cut in silence', () => {
  expect(questionFor({ command: 'x'.repeat(900), args: ['evil'] })).toMatch(
    /and \d+ more characters, see the file$/,
  );
});
