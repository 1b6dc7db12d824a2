/** What a job's pi is told beside its prompt (J7): the profile's text, then what it means to be a job. */
import type { JobName } from '../names.ts';
import type { Profile } from './profile.ts';

export interface Circumstances {
  readonly project: string;
  /** Name of the job that started this one. */
  readonly parent: string | undefined;
  readonly ask: boolean;
  /** It may start jobs of its own (J8). */
  readonly mayStart: boolean;
}

export interface AgentPrompts {
  /** Stands in the place of pi's own. */
  readonly system: string | undefined;
  readonly append: (name: JobName) => string;
}

export function agentPrompts(profile: Profile | undefined, circumstances: Circumstances): AgentPrompts {
  const text = profile?.text ?? '';
  // An empty text in replace mode would leave pi without any words of its own: that is not what a profile is for.
  const replaces = profile?.prompt === 'replace' && text !== '';
  const first = replaces || text === '' ? [] : [text];
  return {
    system: replaces ? `${text}\n` : undefined,
    append: (name) => `${[...first, multiAgentBlock(name, circumstances)].join('\n\n')}\n`,
  };
}

function multiAgentBlock(name: JobName, { project, parent, ask, mayStart }: Circumstances): string {
  const starter = parent === undefined ? '' : `, started by the agent "${parent}"`;
  const questions = ask
    ? 'A dialog waits until somebody answers it, which may take long: open one only where you cannot go on without.'
    : 'Nobody answers questions or dialogs: decide yourself, and say in your result what you assumed.';
  const others = mayStart
    ? 'Other agents can be started with the command `multi-agent` (`multi-agent --help`); wait for those that you start.'
    : 'You cannot start other agents.';
  return [
    '# You are a background agent',
    '',
    `You are the agent "${name}"${starter}, working without a terminal for the project ${project}.`,
    questions,
    'Your last message is your result, and all that whoever started you gets to read: make it complete by itself.',
    'Processes that you leave behind are ended with you.',
    others,
  ].join('\n');
}
