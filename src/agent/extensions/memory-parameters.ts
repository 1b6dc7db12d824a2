/** The tool `memory` as the model is told of it (W11). */
import type { AgentDir } from '../../agent-dir/index.ts';

export const MEMORY_PARAMETERS = {
  type: 'object',
  properties: {
    action: {
      type: 'string',
      enum: ['add', 'replace', 'remove', 'show'],
      description: 'add one fact; replace a text by another; remove the entry that holds a text; show all',
    },
    text: { type: 'string', description: 'what to add, what to put in place, or what the entry holds' },
    old: { type: 'string', description: 'only to replace: the text that is there now' },
  },
  required: ['action'],
  additionalProperties: false,
} as const;

/** One call of the tool. */
export interface MemoryCall {
  readonly agentDir: AgentDir;
  /** Bytes. */
  readonly budget: number;
  /** As the model gave them. */
  readonly parameters: unknown;
}
