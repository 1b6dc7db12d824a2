/** What the tool `memory` does (W11). */
import { hostname } from 'node:os';
import { editMemory, type MemoryEdit, readMemory } from '../../agent-dir/index.ts';
import { messageOf, PiSandboxError } from '../../lib/errors.ts';
import type { ToolResult } from '../../pi/index.ts';
import { MEMORY_PARAMETERS, type MemoryCall } from './memory-parameters.ts';

/** What it throws is the tool's failure, in pi's own form. */
export async function answer({ agentDir, budget, parameters }: MemoryCall): Promise<ToolResult> {
  const { action, text, old } = readParameters(parameters);
  if (action === 'show') {
    const { profile } = await readMemory(agentDir);
    return said(profile === '' ? 'Nothing is remembered.' : profile);
  }
  const holder = {
    pid: process.pid,
    host: process.env.PI_SANDBOX_NAME ?? hostname(),
    startedAt: new Date().toISOString(),
    what: 'an edit of the profile',
  };
  try {
    const result = await editMemory(agentDir, editOf(action, text, old), { budget, holder });
    if (result.removed !== undefined) return said(`Removed: ${result.removed}`);
    return said(result.changed ? 'Remembered.' : 'It was so already.');
  } catch (error) {
    const hint = error instanceof PiSandboxError && error.hint !== undefined ? ` (${error.hint})` : '';
    throw new Error(`${messageOf(error)}${hint}`);
  }
}

type Action = MemoryEdit['action'] | 'show';

/** pi has checked them against the schema; a model may still leave out what its action needs. */
function readParameters(parameters: unknown): { action: Action; text: string; old: string } {
  const given = typeof parameters === 'object' && parameters !== null ? parameters : {};
  const word = (name: string): string => {
    const value: unknown = Reflect.get(given, name);
    return typeof value === 'string' ? value : '';
  };
  const action = MEMORY_PARAMETERS.properties.action.enum.find((known) => known === word('action'));
  if (action === undefined) throw new Error(`"${word('action')}" is no action of memory`);
  return { action, text: word('text'), old: word('old') };
}

function editOf(action: MemoryEdit['action'], text: string, old: string): MemoryEdit {
  return action === 'replace' ? { action, old, text } : { action, text };
}

function said(text: string): ToolResult {
  return { content: [{ type: 'text', text }], details: {} };
}
