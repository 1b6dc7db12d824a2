import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { addRunVerbs } from '../../../src/agent/runs/verbs.ts';
import { passedWords } from '../../../src/cli/passed-words.ts';

function divided(line: string) {
  const { words, rest } = passedWords(['node', 'pi-sandbox', ...line.split(' ')]);
  return [words.slice(2).join(' '), rest.join(' ')];
}

describe('words that belong to a program in the sandbox', () => {
  it('S14: stand after --', () => {
    expect(divided('start . --demo -- -p --help')).toEqual(['start . --demo', '-p --help']);
    expect(divided('ps --all')).toEqual(['ps --all', '']);
  });

  it('J6: are all that follow the project of jobs, options and -- included', () => {
    expect(divided('jobs . start --name a text -- --no-tools')).toEqual([
      'jobs .',
      'start --name a text -- --no-tools',
    ]);
    expect(divided('jobs ~/shop list --json')).toEqual(['jobs ~/shop', 'list --json']);
  });

  it('J6: begin at once where no project is named', () => {
    expect(divided('jobs list --json')).toEqual(['jobs', 'list --json']);
    expect(divided('jobs -- list')).toEqual(['jobs', 'list']);
    expect(divided('jobs ./list list')).toEqual(['jobs ./list', 'list']);
  });

  it('J6: come after our own options', () => {
    expect(divided('--engine start jobs --domain list . list --domain x')).toEqual([
      '--engine start jobs --domain list .',
      'list --domain x',
    ]);
    expect(divided('jobs --domain=acme list')).toEqual(['jobs --domain=acme', 'list']);
    expect(divided('jobs --help')).toEqual(['jobs --help', '']);
  });

  it('R4: are all that follow the project of runs, or runs itself', () => {
    expect(divided('runs . start graph.yaml --wait')).toEqual(['runs .', 'start graph.yaml --wait']);
    expect(divided('runs schedule add @daily -- graph.yaml')).toEqual([
      'runs',
      'schedule add @daily -- graph.yaml',
    ]);
  });

  it('R4: knows every verb of multi-agent runs', () => {
    const program = new Command();
    addRunVerbs(program);
    const verbs = program.commands[0]?.commands.map((verb) => verb.name()) ?? [];
    expect(verbs.length).toBeGreaterThan(10);
    for (const verb of verbs) expect(divided(`runs ${verb}`)).toEqual(['runs', verb]);
  });

  it('J6: a project called jobs is not the verb', () => {
    expect(divided('start jobs -- list')).toEqual(['start jobs', 'list']);
  });
});
