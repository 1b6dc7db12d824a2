import { examples, type Grammar } from './grammar.ts';

/** `image build|status|prune` (S21). */
export function addImageVerbs({ program, runs }: Grammar): void {
  const image = program.command('image').description('the image that sandboxes run');
  image
    .command('build')
    .description('build the image if it is missing or stale')
    .option('--rebuild', 'build it even if it is fresh')
    .option('--offline-base', 'if the base image cannot be pulled, make one on this machine without asking')
    .addHelpText('after', examples('image build', 'image build --offline-base'))
    .action(
      runs(async (_argument, options: object) => (await import('../commands/image.ts')).imageBuild(options)),
    );
  image
    .command('status')
    .description('say whether the image is fresh, stale or missing')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('image status'))
    .action(
      runs(async (_argument, options: object) => (await import('../commands/image.ts')).imageStatus(options)),
    );
  image
    .command('prune')
    .description('remove old images of this installation that nothing uses')
    .option('--dry-run', 'only say what would go')
    .addHelpText('after', examples('image prune --dry-run', 'image prune'))
    .action(
      runs(async (_argument, options: object) => (await import('../commands/image.ts')).imagePrune(options)),
    );
}
