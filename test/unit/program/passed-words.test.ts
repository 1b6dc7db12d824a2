import { describe, expect, it } from 'vitest';
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

  it('J6: a project called jobs is not the verb', () => {
    expect(divided('start jobs -- list')).toEqual(['start jobs', 'list']);
  });
});
