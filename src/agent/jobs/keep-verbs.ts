import type { Command } from 'commander';
import { examples } from './examples.ts';
import { agesOf } from './values.ts';

/** `rm prune` (J6, J14). */
export function addKeepVerbs(program: Command): void {
  program
    .command('rm')
    .argument('<job...>', 'jobs that have ended')
    .description('remove jobs with their conversations')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('rm tests docs'))
    .action(async (jobs: string[], options: object) => {
      process.exitCode = await (await import('./rm.ts')).rm(jobs, options);
    });
  program
    .command('prune')
    .description('remove the jobs of this project that ended longer ago than history is kept')
    .option('--older-than <duration>', 'instead of SESSIONS_RETENTION_DAYS (default: 30d)', agesOf)
    .option('--dry-run', 'change nothing and say what would go')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('prune --dry-run', 'prune --older-than 7d'))
    .action(async (options: object) => {
      process.exitCode = await (await import('./prune.ts')).prune(options);
    });
}
