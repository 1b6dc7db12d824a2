import type { Command } from 'commander';
import { examples } from './examples.ts';

/** `migrate` (W10) and `memory` (W11): what is to be done in the agent directory itself. */
export function addLayoutVerbs(program: Command): void {
  program
    .command('migrate')
    .description('move what older layouts left at the root of the agent directory to its place')
    .option('--dry-run', 'change nothing and say what would move')
    .option('--trust-in-state', 'move trust.json too, for a pi that reads state/trust.json')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('migrate --dry-run', 'migrate'))
    .action(async (options: object) => {
      process.exitCode = await (await import('./migrate.ts')).migrate(options);
    });

  const memory = program
    .command('memory')
    .description('what pi is to know about the user (USER.md)')
    .helpCommand(false);
  memory
    .command('add')
    .argument('<text...>', 'what to remember; - reads standard input')
    .description('remember something')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('memory add "prefers small commits"'))
    .action(async (words: string[], options: object) => {
      const { edit, textOf } = await import('./memory.ts');
      process.exitCode = await edit({ action: 'add', text: await textOf(words) }, options);
    });
  memory
    .command('replace')
    .argument('<old>', 'a text that is there once')
    .argument('<new>', 'what to put in its place; - reads standard input')
    .description('change something that is remembered')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('memory replace "small commits" "large commits"'))
    .action(async (old: string, text: string, options: object) => {
      const { edit, textOf } = await import('./memory.ts');
      process.exitCode = await edit({ action: 'replace', old, text: await textOf([text]) }, options);
    });
  memory
    .command('remove')
    .argument('<text...>', 'a text that one entry holds; - reads standard input')
    .description('forget the entry that holds a text')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('memory remove "small commits"'))
    .action(async (words: string[], options: object) => {
      const { edit, textOf } = await import('./memory.ts');
      process.exitCode = await edit({ action: 'remove', text: await textOf(words) }, options);
    });
  memory
    .command('show')
    .description('print all that is remembered')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('memory show'))
    .action(async (options: object) => {
      process.exitCode = await (await import('./memory.ts')).show(options);
    });
}
