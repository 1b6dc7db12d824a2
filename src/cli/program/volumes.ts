import { examples, type Grammar } from './grammar.ts';

/** `volumes list|chown` (S1, S2). */
export function addVolumeVerbs({ program, runs }: Grammar): void {
  const volumes = program.command('volumes').description('the volumes of this installation');
  volumes
    .command('list')
    .description('list the volumes with what they are for')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('volumes list'))
    .action(
      runs(async (_argument, options: object) =>
        (await import('../commands/volumes.ts')).volumesList(options),
      ),
    );
  volumes
    .command('chown')
    .argument('[uid:gid]', 'the new owner (default: the user a sandbox would run as)')
    .description('give the volumes to another user; links are never followed')
    .option('--domain <name>', "only this domain's volumes and the shared one")
    .option('--yes', 'do not ask')
    .addHelpText('after', examples('volumes chown', 'volumes chown 1001:1001 --domain acme'))
    .action(
      runs(async (argument, options: object) =>
        (await import('../commands/volumes.ts')).volumesChown(argument, options),
      ),
    );
}
