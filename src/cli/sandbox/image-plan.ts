import type { Engine } from '../../engine/index.ts';
import type { InstallationPrefix, Settings } from '../config/index.ts';
import { type ContextFile, contentHash, packageRoot, readContext } from './image-context.ts';
import { readFragment } from './image-extra.ts';
import { imageName } from './names.ts';

/** `BASE_IMAGE=offline` asks for the base of {@link ensureOfflineBase} at once (S22). */
export const OFFLINE = 'offline';

/** What the image's code needs of an engine. */
export type ImageEngine = Pick<Engine, 'images' | 'local'>;

export type ImageSettings = Pick<Settings, 'BASE_IMAGE' | 'IMAGE_EXTRA' | 'PI_VERSION'>;

/** Which image a configuration needs, known without asking the engine. */
export interface ImagePlan {
  readonly root: string;
  readonly prefix: InstallationPrefix;
  readonly settings: ImageSettings;
  readonly files: readonly ContextFile[];
  /** What sandboxes run: the session image, or the user's own built on top of it. */
  readonly name: string;
  readonly hash: string;
  /** Present with IMAGE_EXTRA: what the user's lines are built on. */
  readonly plain?: { readonly name: string; readonly hash: string };
  readonly fragment?: string;
}

/**
 * Reads the context and names the image. About 1 MB is read and hashed at each start, in a few milliseconds.
 *
 * The base counts as the configuration names it: a build that fell back to the offline base makes the image of this
 * name too, or every start would look for the public one again.
 */
export function planImage(
  prefix: InstallationPrefix,
  settings: ImageSettings,
  root: string = packageRoot(),
): ImagePlan {
  const files = readContext(root);
  const decisions = { base: settings.BASE_IMAGE, pi: settings.PI_VERSION };
  const plain = contentHash(files, decisions);
  const plan = { root, prefix, settings, files, name: imageName(prefix, plain), hash: plain };
  if (settings.IMAGE_EXTRA === undefined) return plan;
  const fragment = readFragment(settings.IMAGE_EXTRA);
  const hash = contentHash(files, { ...decisions, extra: fragment });
  return { ...plan, name: imageName(prefix, hash), hash, plain: { name: plan.name, hash: plain }, fragment };
}
