/**
 * The session image (S21, S22): which one a configuration needs, whether the engine has it, and removing the ones
 * that are no longer needed. Its name holds a hash of everything that goes in, so "stale" is simply "no image of that
 * name": creating the container says so, and nothing has to be asked before.
 */
import type { ImageInfo } from '../../engine/index.ts';
import type { InstallationPrefix } from '../config/index.ts';
import { type BuiltImage, buildImage, type ImageBuildOptions } from './image-build.ts';
import type { ImageEngine, ImagePlan } from './image-plan.ts';
import { imageRepository } from './names.ts';
import { offlineBaseName, offlineBaseRepository } from './offline-base.ts';

export { type BuiltImage, buildImage, type ImageBuildOptions } from './image-build.ts';
export { type ImageEngine, type ImagePlan, type ImageSettings, planImage } from './image-plan.ts';

/** Builds the image unless the engine has it. */
export async function ensureImage(options: ImageBuildOptions): Promise<BuiltImage & { built: boolean }> {
  const { engine, plan } = options;
  const present = await engine.images.inspect(plan.name);
  if (present) return { name: plan.name, base: present.labels['pi-sandbox.base'] ?? '', built: false };
  return { ...(await buildImage(options)), built: true };
}

export interface ImageStatus {
  /** The image that the configuration needs. */
  readonly name: string;
  readonly state: 'current' | 'stale' | 'missing';
  readonly current: ImageInfo | undefined;
  /** Images of this installation that the configuration doesn't need, newest first. */
  readonly old: readonly ImageInfo[];
}

/** `stale` means that an older image of this installation is there, `missing` that none is. */
export async function imageStatus(engine: ImageEngine, plan: ImagePlan): Promise<ImageStatus> {
  const [current, ours] = await Promise.all([
    engine.images.inspect(plan.name),
    ownImages(engine, plan.prefix),
  ]);
  const old = ours
    .filter((image) => !isNeeded(image, plan))
    .sort((a, b) => (b.createdAt ?? 0) - (a.createdAt ?? 0));
  const state = current
    ? 'current'
    : old.some((image) => image.labels['pi-sandbox.role'] === 'image')
      ? 'stale'
      : 'missing';
  return { name: plan.name, state, current, old };
}

export interface PrunedImage {
  /** Its name, or its id where it has none. */
  readonly name: string;
  readonly sizeBytes: number;
  /** `in-use`: a container or another image stands on it, so it was kept. */
  readonly outcome: 'removed' | 'in-use' | 'would-remove';
}

/**
 * Removes this installation's images that the configuration doesn't need: never others', never one in use (the
 * engine refuses those, since nothing is forced).
 */
export async function pruneImages(
  engine: ImageEngine,
  plan: ImagePlan,
  options: { dryRun?: boolean } = {},
): Promise<PrunedImage[]> {
  const { old } = await imageStatus(engine, plan);
  const pruned: PrunedImage[] = [];
  for (const image of old) {
    for (const name of image.tags.length > 0 ? image.tags : [image.id]) {
      const outcome = options.dryRun ? 'would-remove' : await engine.images.remove(name);
      if (outcome !== 'gone') pruned.push({ name, sizeBytes: image.sizeBytes, outcome });
    }
  }
  return pruned;
}

/** Ours by label and, where an image has names, by every one of them: a name that is not ours is somebody's use. */
export async function ownImages(engine: ImageEngine, prefix: InstallationPrefix): Promise<ImageInfo[]> {
  const repositories = [imageRepository(prefix), offlineBaseRepository(prefix)];
  const isOurs = (tag: string) =>
    repositories.includes(tag.slice(0, tag.lastIndexOf(':')).replace(/^localhost\//, ''));
  const roles = ['image', 'image-base', 'image-stage'];
  return (await engine.images.list({ 'pi-sandbox.prefix': prefix })).filter(
    ({ tags, labels }) => roles.includes(labels['pi-sandbox.role'] ?? '') && tags.every(isOurs),
  );
}

function isNeeded({ tags }: ImageInfo, plan: ImagePlan): boolean {
  const needed = [plan.name, plan.plain?.name, offlineBaseName(plan.prefix, plan.root)];
  return tags.some((tag) => needed.includes(tag.replace(/^localhost\//, '')));
}
