import { jsonText } from '../../lib/json-text.ts';
import { bytes, duration, table } from '../../lib/table.ts';
import { openContext } from '../context.ts';
import type { GlobalOptions } from '../global-options.ts';
import { planImage, pruneImages, imageStatus as statusOfImage } from '../sandbox/image.ts';
import { buildWithProgress } from '../sandbox/image-on-demand.ts';

/** Builds the session image unless it is there and fresh (S21). */
export async function imageBuild(
  options: GlobalOptions & { rebuild?: boolean; offlineBase?: boolean },
): Promise<number> {
  const context = await openContext(options);
  const { config, engine } = context;
  const plan = planImage(config.INSTALLATION_PREFIX, config);
  if (options.rebuild === true || (await engine.images.inspect(plan.name)) === undefined) {
    await buildWithProgress(context, engine, plan, { ...options, verbose: options.debug === true });
  }
  engine.close();
  process.stdout.write(`${plan.name}\n`);
  return 0;
}

/** Says whether a start would have to build, and which old images are there; exit code 1 unless it is current. */
export async function imageStatus(options: GlobalOptions & { json?: boolean }): Promise<number> {
  const { config, engine } = await openContext(options);
  const status = await statusOfImage(engine, planImage(config.INSTALLATION_PREFIX, config));
  engine.close();
  const rows = [status.current, ...status.old].filter((image) => image !== undefined);
  if (options.json === true) {
    const images = rows.map(({ id, tags, sizeBytes, createdAt }) => ({ id, tags, sizeBytes, createdAt }));
    process.stdout.write(`${jsonText({ version: 1, name: status.name, state: status.state, images }, 2)}\n`);
  } else {
    process.stdout.write(`${status.name}: ${status.state}\n`);
    const lines = rows.map((image) => [
      image.tags[0] ?? image.id,
      image === status.current ? 'current' : 'old',
      bytes(image.sizeBytes),
      image.createdAt === undefined ? '-' : `${duration(Date.now() - image.createdAt)} ago`,
    ]);
    if (lines.length > 0) process.stdout.write(`\n${table(['image', 'state', 'size', 'created'], lines)}`);
  }
  return status.state === 'current' ? 0 : 1;
}

/** Removes this installation's old images; one that something still stands on is kept and said so. */
export async function imagePrune(options: GlobalOptions & { dryRun?: boolean }): Promise<number> {
  const { config, engine } = await openContext(options);
  const plan = planImage(config.INSTALLATION_PREFIX, config);
  const pruned = await pruneImages(engine, plan, { dryRun: options.dryRun === true });
  engine.close();
  const words = { removed: 'removed', 'in-use': 'kept, in use', 'would-remove': 'would be removed' };
  if (pruned.length === 0) process.stdout.write('no old images\n');
  else
    process.stdout.write(
      table(
        ['image', 'size', 'outcome'],
        pruned.map(({ name, sizeBytes, outcome }) => [name, bytes(sizeBytes), words[outcome]]),
      ),
    );
  return 0;
}
