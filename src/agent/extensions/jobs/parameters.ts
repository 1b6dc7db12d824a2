/** What the model can ask of the tool `multi_agent` (J12): a JSON schema, by which pi checks each call. */

export const ACTIONS = [
  'start',
  'status',
  'wait',
  'peek',
  'steer',
  'abort',
  'kill',
  'resume',
  'answer',
  'list',
  'output',
] as const;
export type Action = (typeof ACTIONS)[number];

const text = (description: string) => ({ type: 'string', description });

export const MULTI_AGENT_PARAMETERS = {
  type: 'object',
  properties: {
    action: { type: 'string', enum: ACTIONS },
    job: text('The job’s name: of every action but start, list, and a wait for all that you started'),
    prompt: text(
      'start: the whole task, for the agent knows nothing of this conversation. resume: what comes next',
    ),
    name: text('start: a name, a-z 0-9 and -; without it one is made'),
    profile: text('start: worker, reviewer, scout, or one of the user’s own'),
    model: text('start: provider/model, if not the usual one'),
    thinking: text('start: off minimal low medium high xhigh max'),
    tools: text('start: names of tools it may use, separated by commas'),
    cwd: text('start: where it works, if not here'),
    timeout: {
      type: 'number',
      description: 'start, resume: seconds after which it is ended. wait: seconds to wait',
    },
    text: text('steer: what to put in. answer: the answer to the dialog that it waits for'),
    any: { type: 'boolean', description: 'wait: for the first to end instead of all' },
    lines: { type: 'number', description: 'peek: how many of the last lines' },
  },
  required: ['action'],
  additionalProperties: false,
} as const;
