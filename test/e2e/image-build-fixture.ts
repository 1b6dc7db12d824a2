/** An installation of each test's own on a real engine, whose images are tiny and gone after it, also when it fails. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'vitest';
import { InstallationPrefix } from '../../src/cli/config/keys.ts';
import { type ImageBuildOptions, type ImagePlan, planImage } from '../../src/cli/sandbox/image.ts';
import { packContext } from '../../src/cli/sandbox/image-context.ts';
import { offlineBaseName } from '../../src/cli/sandbox/offline-base.ts';
import type { Engine } from '../../src/engine/index.ts';
import { packageFixture, put } from '../setup/package-fixture.ts';
import { dockerRound, LABEL, type Round } from './engine-fixture.ts';

export interface Wish {
  base?: string;
  /** Steps of the Dockerfile after the package's files are in. */
  steps?: readonly string[];
  /** The text of IMAGE_EXTRA. */
  extra?: string;
  /** The script that makes the offline base, where no base of the same content is to be had. */
  script?: string;
}

/** What a build tells, and the options that make it tell. */
export interface Told {
  readonly options: Pick<ImageBuildOptions, 'engine' | 'env' | 'onNotice' | 'onProgress' | 'onLog'>;
  readonly notices: string[];
  readonly progress: string[];
  readonly log: string[];
}

export interface Site {
  readonly engine: Engine;
  readonly prefix: InstallationPrefix;
  /** Another installation's. It begins with ours: whoever compares less than the whole takes it for ours. */
  readonly other: InstallationPrefix;
  /** A base that the engine has: busybox. */
  readonly base: string;
  plan(wish?: Wish): ImagePlan;
  told(): Told;
  /** Makes an image of that name with a content of its own. */
  make(name: string, labels: Record<string, string>): Promise<void>;
  /** Makes the offline base as that installation would; what stands on it has the label `made-by`. */
  makeBase(plan: ImagePlan, owner: InstallationPrefix): Promise<void>;
  labels(name: string): Promise<Record<string, string> | undefined>;
  /** The names that an installation has on the engine; an untagged image has none. */
  names(owner: InstallationPrefix): Promise<string[]>;
  /** A container of that image, not started. */
  use(image: string): Promise<void>;
}

/** The labels of an installation's image. */
export function owned(owner: InstallationPrefix, role: string): Record<string, string> {
  return { 'pi-sandbox.prefix': owner, 'pi-sandbox.role': role };
}

/** `it` with a site; the base is made once for a file. */
export const it = test
  .extend('begin', { scope: 'file' }, () => dockerRound)
  .extend('round', { scope: 'file' }, async ({ begin }, { onCleanup }) => {
    const round = await begin();
    onCleanup(() => round.end());
    return round;
  })
  .extend('site', async ({ round }, { onCleanup }) => {
    const site = siteOf(round);
    onCleanup(() => removeMade(round, site));
    return site;
  });

function siteOf(round: Round): Site {
  const { engine } = round;
  const { images, containers } = engine;
  const prefix = InstallationPrefix.parse(`ib${randomBytes(4).toString('hex')}-`);
  // An import and not a build: the classic builder makes a layer for every label.
  const make = async (name: string, labels: Record<string, string>) => {
    const tar = await packContext([{ path: 'name', content: Buffer.from(name), executable: false }]);
    const all = Object.entries({ ...labels, [LABEL]: round.name });
    const changes = all.map(([key, value]) => `LABEL ${key}="${value}"`);
    await images.importTar({ tar, name, changes });
  };
  return {
    engine,
    prefix,
    other: InstallationPrefix.parse(`${prefix}other-`),
    base: round.image,
    plan: (wish = {}) => planOf(prefix, { base: round.image, ...wish }),
    told: () => toldOf(engine),
    make,
    makeBase: ({ root }, owner) =>
      make(offlineBaseName(owner, root), { ...owned(owner, 'image-base'), 'made-by': owner }),
    labels: async (name) => (await images.inspect(name))?.labels,
    names: async (owner) =>
      (await images.list({ 'pi-sandbox.prefix': owner })).flatMap(({ tags }) => tags).sort(),
    async use(image) {
      const { outcome } = await containers.create(round.spec({ image, command: ['true'] }));
      if (outcome !== 'created') throw new Error(`${image}: ${outcome}`);
    },
  };
}

function planOf(
  prefix: InstallationPrefix,
  { base = '', steps = [], extra, script = 'exit 1' }: Wish,
): ImagePlan {
  const root = packageFixture();
  const lines = ['ARG BASE_IMAGE', 'FROM $BASE_IMAGE', 'COPY dist/container /opt/', ...steps];
  put(root, 'docker/Dockerfile', `${lines.join('\n')}\n`);
  // The prefix in it keeps this base apart from the one of every other test.
  put(root, 'docker/base/build.sh', `# ${prefix}\n${script}\n`);
  if (extra !== undefined) put(root, 'extra', extra);
  const fragment = extra === undefined ? undefined : join(root, 'extra');
  return planImage(prefix, { BASE_IMAGE: base, IMAGE_EXTRA: fragment, PI_VERSION: '1.6.0' }, root);
}

function toldOf(engine: Engine): Told {
  const notices: string[] = [];
  const progress: string[] = [];
  const log: string[] = [];
  const options = {
    engine,
    env: {},
    onNotice: (line: string) => void notices.push(line),
    onProgress: (line: string) => void progress.push(line),
    onLog: (line: string) => void log.push(line),
  };
  return { options, notices, progress, log };
}

/** By the label that all of it inherits from the round's base, or by its installation. */
async function removeMade({ engine, name, image }: Round, { prefix }: Site): Promise<void> {
  const { containers, images } = engine;
  for (const { id } of await containers.list({ [LABEL]: name })) await containers.remove(id, { force: true });
  const made = async () => [
    ...(await images.list({ [LABEL]: name })),
    ...(await images.list({ 'pi-sandbox.prefix': prefix })),
  ];
  // Names first: an id is refused while another image stands on it.
  const tags = (await made()).flatMap((found) => found.tags).filter((tag) => tag !== image);
  for (const tag of tags) await images.remove(tag);
  for (const { id, tags: left } of await made()) if (left.length === 0) await images.remove(id);
}
