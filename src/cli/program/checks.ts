import { DOMAIN, examples, type Grammar, PROJECT } from './grammar.ts';

/** `selftest` and `doctor` (S16). */
export function addCheckVerbs({ program, runs }: Grammar): void {
  program
    .command('selftest')
    .argument('[project]', PROJECT)
    .description('check a sandbox from inside: user, limits, mounts, network, pi')
    .option('--domain <name>', DOMAIN)
    .option('--json', 'print JSON')
    .addHelpText('after', examples('selftest', 'selftest ~/work/shop --json'))
    .action(
      runs(async (argument, options: object) =>
        (await import('../commands/selftest.ts')).selftest(argument, options),
      ),
    );

  program
    .command('doctor')
    .argument('[project]', "also look at what does not belong in the agent directory of a project's sandbox")
    .description("check this machine's side: engine, image, configuration, leftovers")
    .option('--domain <name>', DOMAIN)
    .option('--json', 'print JSON')
    .addHelpText('after', examples('doctor', 'doctor ~/work/shop --json'))
    .action(
      runs(async (argument, options: object) =>
        (await import('../commands/doctor.ts')).doctor(argument, options),
      ),
    );
}
