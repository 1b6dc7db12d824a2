/**
 * Loaded into every pi of a sandbox: the user's profile is in the prompt, and the model can change it with the tool
 * `memory` (W11). No part of it may break pi: what fails is an answer of the tool, or a word in the prompt.
 */
import { DEFAULT_BUDGET, getAgentDir, memoryBudget, promptText } from '../../agent-dir/index.ts';
import { messageOf } from '../../lib/errors.ts';
import type { ExtensionApi, ToolResult } from '../../pi/index.ts';
import { makeVoice } from './lock/voice.ts';
import { MEMORY_PARAMETERS, type MemoryCall } from './memory-parameters.ts';

const SECTION = 'user_profile';

export default function memory(pi: ExtensionApi): void {
  const { env } = process;
  const agentDir = getAgentDir({ env, home: env.HOME ?? '/', cwd: process.cwd() });
  const { budget, problem } = budgetOf(env);
  const voice = makeVoice();

  pi.registerTool({
    name: 'memory',
    label: 'Memory',
    description:
      'Keeps facts and preferences of the user for all sessions to come (USER.md). Short, one fact to an entry, nothing secret.',
    promptSnippet: 'Remember or forget what the user wants in every session',
    parameters: MEMORY_PARAMETERS,
    execute: (_id, parameters) => callTool({ agentDir, budget, parameters }),
  });

  pi.on('before_agent_start', async (event, context) => {
    voice.attach(context);
    if (problem !== undefined) voice.warn(problem);
    const { sections } = event.systemPromptOptions;
    const text = await promptText(agentDir, budget);
    if (text === undefined) delete sections[SECTION];
    else sections[SECTION] = text;
    return undefined;
  });
}

function budgetOf(env: NodeJS.ProcessEnv): { budget: number; problem: string | undefined } {
  try {
    return { budget: memoryBudget(env), problem: undefined };
  } catch (error) {
    return { budget: DEFAULT_BUDGET, problem: `${messageOf(error)}; ${DEFAULT_BUDGET} is taken` };
  }
}

/** A file of its own, loaded when the tool is first called: every start of pi would wait for it otherwise. */
async function callTool(call: MemoryCall): Promise<ToolResult> {
  const { answer } = await import('./memory-tool.ts');
  return answer(call);
}
