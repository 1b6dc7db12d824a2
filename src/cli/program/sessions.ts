import { type Command, InvalidArgumentError } from 'commander';
import { count, examples, type Grammar, type Runs, type RunsMany } from './grammar.ts';

const DOMAIN = 'only this domain';
const SESSION = 'id, beginning of an id, or file of a Session';

/** `sessions list|show|export|prune|clear|restore|rm|log` (S13). */
export function addSessionVerbs({ program, runs, runsMany }: Grammar): void {
  const sessions = program.command('sessions').description('the history of Sessions, domain by domain');

  sessions
    .command('list')
    .argument('[domain]', DOMAIN)
    .description('count, size, oldest, retention and trash of each domain')
    .option('--domain <name>', DOMAIN)
    .option('--sessions', 'one row for each Session')
    .option('--trash', 'one row for each Session in the trash')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('sessions list', 'sessions list work --sessions'))
    .action(
      runs(async (argument, options: object) =>
        (await import('../commands/sessions/list.ts')).sessionsList(argument, options),
      ),
    );

  sessions
    .command('show')
    .argument('<session>', SESSION)
    .description('what a Session is, and the first and last of what was said in it')
    .option('--domain <name>', DOMAIN)
    .option('--json', 'print JSON')
    .addHelpText('after', examples('sessions show 01a22dde'))
    .action(
      runs(async (argument = '', options: object) =>
        (await import('../commands/sessions/show.ts')).sessionsShow(argument, options),
      ),
    );

  sessions
    .command('export')
    .argument('[session]', SESSION)
    .description("a Session's file as it is, or with --domain alone a tar of all of that domain's")
    .option('--domain <name>', DOMAIN)
    .option('-o, --output <file>', 'write to a new file instead of standard output')
    .option('--trash', 'with the whole domain: what is in the trash too')
    .addHelpText(
      'after',
      examples('sessions export 01a22dde -o talk.jsonl', 'sessions export --domain work -o work.tar'),
    )
    .action(
      runs(async (argument, options: object) =>
        (await import('../commands/sessions/export.ts')).sessionsExport(argument, options),
      ),
    );

  addDeletingVerbs(sessions, runs);
  addTrashVerbs(sessions, runs, runsMany);
}

/** What deletes many at once. */
function addDeletingVerbs(sessions: Command, runs: Runs): void {
  sessions
    .command('prune')
    .argument('[domain]', 'the domain')
    .description('move expired Sessions to the trash now, as the next start would')
    .option('--all', 'every domain')
    .option('--dry-run', 'only say what would go')
    .option('--older-than <days>', "this age instead of the domain's retention, such as 10d", age)
    .option('--json', 'print JSON')
    .addHelpText('after', examples('sessions prune work', 'sessions prune --all --dry-run --older-than 10d'))
    .action(
      runs(async (argument, options: object) =>
        (await import('../commands/sessions/prune.ts')).sessionsPrune(argument, options),
      ),
    );

  sessions
    .command('clear')
    .argument('[domain]', 'the domain')
    .description('delete all history of a domain for good, the trash too')
    .option('--legacy', 'instead: what from before domains had their own belongs to none')
    .option('--yes', 'do not ask')
    .option('--force', 'although a sandbox of the domain runs')
    .addHelpText('after', examples('sessions clear work', 'sessions clear --legacy'))
    .action(
      runs(async (argument, options: object) =>
        (await import('../commands/sessions/clear.ts')).sessionsClear(argument, options),
      ),
    );
}

/** Into the trash, out of it, and what was there. */
function addTrashVerbs(sessions: Command, runs: Runs, runsMany: RunsMany): void {
  sessions
    .command('restore')
    .argument('<session...>', SESSION)
    .description('bring Sessions back from the trash')
    .option('--domain <name>', DOMAIN)
    .addHelpText('after', examples('sessions list --trash', 'sessions restore 01a22dde'))
    .action(
      runsMany(async (words, options: object) =>
        (await import('../commands/sessions/restore.ts')).sessionsRestore(words, options),
      ),
    );

  sessions
    .command('rm')
    .argument('<session...>', SESSION)
    .description('move Sessions to the trash; one that is there is deleted for good')
    .option('--domain <name>', DOMAIN)
    .option('--now', 'delete it for good, past the trash')
    .option('--yes', 'do not ask')
    .option('--force', 'although it is open')
    .addHelpText('after', examples('sessions rm 01a22dde 01a1bfa1', 'sessions rm --now --yes 01a22dde'))
    .action(
      runsMany(async (words, options: object) =>
        (await import('../commands/sessions/restore.ts')).sessionsRemove(words, options),
      ),
    );

  sessions
    .command('log')
    .argument('[domain]', DOMAIN)
    .description('what was deleted or brought back, when and why')
    .option('--domain <name>', DOMAIN)
    .option('-n, --tail <entries>', 'only the last ones', count, 1_000)
    .option('--json', 'print JSON')
    .addHelpText('after', examples('sessions log', 'sessions log work -n 20'))
    .action(
      runs(async (argument, options: { tail: number }) =>
        (await import('../commands/sessions/log.ts')).sessionsLog(argument, options),
      ),
    );
}

/** Days with or without a `d`; 0 would mean everything here and nothing in the configuration, so it is refused. */
function age(text: string): number {
  const days = /^(\d{1,6})d?$/.exec(text.trim())?.[1];
  if (days === undefined || Number(days) === 0)
    throw new InvalidArgumentError('whole days are expected, 1 or more, such as 10d');
  return Number(days);
}
