import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { addCheckVerbs } from '../../../src/cli/program/checks.ts';
import { addConfigVerbs } from '../../../src/cli/program/config.ts';
import { addImageVerbs } from '../../../src/cli/program/image.ts';
import { addJobVerbs } from '../../../src/cli/program/jobs.ts';
import { addLifeVerbs } from '../../../src/cli/program/life.ts';
import { addPortVerbs } from '../../../src/cli/program/ports.ts';
import { addSandboxVerbs } from '../../../src/cli/program/sandbox.ts';
import { addSessionVerbs } from '../../../src/cli/program/sessions.ts';
import { addStateVerbs } from '../../../src/cli/program/state.ts';
import { addVolumeVerbs } from '../../../src/cli/program/volumes.ts';

const nothing = () => async (): Promise<void> => undefined;
const program = new Command('pi-sandbox');
for (const add of [
  addSandboxVerbs,
  addJobVerbs,
  addLifeVerbs,
  addPortVerbs,
  addSessionVerbs,
  addCheckVerbs,
  addConfigVerbs,
  addImageVerbs,
  addVolumeVerbs,
  addStateVerbs,
])
  add({ program, runs: nothing, runsMany: nothing, rest: [] });

/** What a user can call, by all its words; groups and what only pi-sandbox itself calls are none. */
function verbs(command: Command, words: readonly string[] = []): [string, string][] {
  return command
    .createHelp()
    .visibleCommands(command)
    .flatMap((child): [string, string][] => {
      if (child.name() === 'help') return [];
      const path = [...words, child.name()];
      return child.commands.length > 0 ? verbs(child, path) : [[path.join(' '), helpOf(child)]];
    });
}

function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (piece) => (text += piece) }).outputHelp();
  return text;
}

describe('S15: help', () => {
  it.each(verbs(program))('S15: %s shows how it is called', (words, help) => {
    expect(help).toMatch(new RegExp(`\\nExamples:\\n(.*\\n)*.*pi-sandbox ${words}`));
  });
});
