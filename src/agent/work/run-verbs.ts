import { type Command, InvalidArgumentError } from 'commander';
import { examples } from './examples.ts';

const CATEGORY = 'only this category';
const TENANT = 'only this tenant of it';

/** `list path prune doctor` (W8). */
export function addRunVerbs(program: Command): void {
  program
    .command('list')
    .argument('[category]', CATEGORY)
    .argument('[tenant]', TENANT)
    .description('list the work runs, the last used first')
    .option('--size', 'measure how much disk each takes')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('list', 'list jobs shop --size'))
    .action(async (category: string | undefined, tenant: string | undefined, options: object) => {
      process.exitCode = await (await import('./list.ts')).list({ category, tenant, ...options });
    });
  program
    .command('path')
    .argument('[category]', 'the category')
    .argument('[tenant]', 'the tenant')
    .argument('[run-id]', 'the run')
    .description('print where the work root is, or something in it; nothing is made')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('path', 'path jobs shop'))
    .action(async (...given: [category?: string, tenant?: string, runId?: string, options?: object]) => {
      const [category, tenant, runId, options] = given;
      process.exitCode = await (await import('./path.ts')).path({ category, tenant, runId, ...options });
    });
  program
    .command('prune')
    .argument('[category]', CATEGORY)
    .argument('[tenant]', TENANT)
    .description('remove what retention says; without a tenant also what all together have too much')
    .option('--days <n>', 'runs unused for longer go (default: 30)', amount)
    .option('--runs <n>', 'so many of a tenant stay (default: 64)', amount)
    .option('--bytes <size>', 'so much of a tenant stays, such as 200MiB (default: 512MiB)', bytesOf)
    .option('--dry-run', 'change nothing and say what would go')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('prune --dry-run', 'prune', 'prune jobs shop --days 7'))
    .action(async (category: string | undefined, tenant: string | undefined, options: object) => {
      process.exitCode = await (await import('./prune.ts')).prune({ category, tenant, ...options });
    });
  program
    .command('doctor')
    .description('say what lies in the work root and in the agent directory that does not belong there')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('doctor'))
    .action(async (options: object) => {
      process.exitCode = await (await import('./doctor.ts')).doctor(options);
    });
}

function amount(text: string): number {
  if (!/^\d{1,6}(?:\.\d{1,3})?$/.test(text)) throw new InvalidArgumentError('a number is expected');
  return Number(text);
}

const UNITS: Record<string, number> = { '': 1, k: 1_024, m: 1_024 ** 2, g: 1_024 ** 3 };

/** As people write sizes: `1048576`, `512MiB`, `2g`. */
function bytesOf(text: string): number {
  const [, number, unit = ''] = /^(\d{1,15})\s*(?:([kmg])(?:i?b)?|b)?$/i.exec(text) ?? [];
  if (number === undefined) throw new InvalidArgumentError('a size is expected, such as 200MiB');
  return Number(number) * (UNITS[unit.toLowerCase()] ?? 1);
}
