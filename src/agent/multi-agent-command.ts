import { Command } from 'commander';
import { configured } from '../lib/command-line.ts';

/** The group of verbs that is a program of its own. */
export const GRAPHS = {
  name: 'runs',
  description: 'graphs of agents that outlive whoever started them',
} as const;

/** The command that both programs add their verbs to. */
export function multiAgent(): Command {
  return configured(
    new Command('multi-agent').description(
      'Start pi agents as named background jobs of a project, and watch, steer, stop and resume them',
    ),
    PI_SANDBOX_VERSION,
  );
}
