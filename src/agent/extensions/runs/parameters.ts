/** What the model can ask of the tool `agent_team` (R4): a JSON schema, by which pi checks each call. */

export const TEAM_ACTIONS = [
  'start',
  'validate',
  'list',
  'show',
  'status',
  'wait',
  'message',
  'cancel',
  'cleanup',
  'reattach',
  'take-ownership',
  'step-result',
  'events',
  'schedule',
] as const;
export type TeamAction = (typeof TEAM_ACTIONS)[number];

const text = (description: string) => ({ type: 'string', description });
const number = (description: string) => ({ type: 'number', description });
const flag = (description: string) => ({ type: 'boolean', description });

export const AGENT_TEAM_PARAMETERS = {
  type: 'object',
  properties: {
    action: { type: 'string', enum: TEAM_ACTIONS },
    graph: {
      anyOf: [{ type: 'object' }, { type: 'string' }],
      description:
        'start, validate, schedule add: {objective, steps: [{id, prompt, needs?, after?, profile?, worktree?, cwd?, timeout?, model?, tools?}]}, the same as YAML text, or the path of a file',
    },
    run: text('The run: its id, any beginning of it, or r1, r2, … of those that you started'),
    step: text('message, step-result: a step’s id. cancel: only this step'),
    text: text('message: what to say to the step'),
    timeout: number('wait: seconds to wait. start: seconds after which the run is ended'),
    force: flag(
      'message, cancel, cleanup, take-ownership: also what the answer before has refused for want of it',
    ),
    diff: flag('step-result: what the step has changed in its worktree'),
    from: number('step-result: skip so many characters. events: those after this number'),
    limit: number('list, events: how many'),
    cursor: text('list: the "next" of the page before'),
    all_projects: flag('list, schedule list: of all projects'),
    status: { type: 'array', items: { type: 'string' }, description: 'list: only runs of these states' },
    continue: flag('take-ownership: finish the graph, and do not only own it'),
    retry: {
      type: 'string',
      enum: ['died', 'none'],
      description: 'start, take-ownership: what of steps that die',
    },
    worktrees_only: flag('cleanup: keep all but the worktrees'),
    concurrency: number('start: steps at once'),
    max_steps: number('start, validate: allow more steps than 16'),
    max_cost: number('start: US dollars for all of it'),
    cwd: text('start: where steps work, if not here'),
    schedule: { type: 'string', enum: ['add', 'list', 'rm', 'next'], description: 'schedule: what to do' },
    name: text('schedule add, rm: its name'),
    cron: text('schedule add, next: five fields, such as 30 2 * * *'),
    tz: text('schedule add, next: a zone such as Europe/Berlin'),
    catch_up: { type: 'string', enum: ['none', 'latest'], description: 'schedule add: missed instants' },
    overlap: {
      type: 'string',
      enum: ['skip', 'queue'],
      description: 'schedule add: while the last one runs',
    },
  },
  required: ['action'],
  additionalProperties: false,
} as const;
