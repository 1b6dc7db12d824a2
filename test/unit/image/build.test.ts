import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { InstallationPrefix } from '../../../src/cli/config/keys.ts';
import {
  buildImage,
  ensureImage,
  imageStatus,
  planImage,
  pruneImages,
} from '../../../src/cli/sandbox/image.ts';
import { pullFailure, stepLine } from '../../../src/cli/sandbox/image-build.ts';
import { hasLoopbackProxy, proxyArguments } from '../../../src/cli/sandbox/image-build-arguments.ts';
import { offlineBaseName } from '../../../src/cli/sandbox/offline-base.ts';
import { ImageBuildError } from '../../../src/engine/index.ts';
import { engineStandIn, standInImage } from './engine-stand-in.ts';
import { packageFixture, put } from './package-fixture.ts';

const PREFIX = InstallationPrefix.parse('t-');
const OTHER = InstallationPrefix.parse('other-');
const NO_ROUTE = 'Get "https://registry.example/v2/": dial tcp: lookup registry.example: no such host';

function plan(extra?: string) {
  const root = packageFixture();
  if (extra !== undefined) put(root, 'extra', extra);
  const settings = {
    BASE_IMAGE: 'node:24-bookworm-slim',
    IMAGE_EXTRA: extra === undefined ? undefined : join(root, 'extra'),
    PI_VERSION: '1.6.0',
  };
  return planImage(PREFIX, settings, root);
}

/** An engine without a way to the public registry, on which another installation has made the offline base. */
function cutOff(root: string, owner = OTHER) {
  return engineStandIn({
    images: [
      standInImage(offlineBaseName(owner, root), {
        'pi-sandbox.prefix': owner,
        'pi-sandbox.role': 'image-base',
      }),
    ],
    build: ({ buildArgs }) =>
      buildArgs?.BASE_IMAGE === 'node:24-bookworm-slim'
        ? `Step 1/9 : ARG BASE_IMAGE\nStep 2/9 : FROM \${BASE_IMAGE} AS modules\n${NO_ROUTE}\n`
        : undefined,
  });
}

describe('building the image', () => {
  it('S22: says that the base cannot be pulled and builds on the offline base when told to', async () => {
    const wanted = plan();
    const { engine, builds } = cutOff(wanted.root);
    const notices: string[] = [];
    const options = { engine, plan: wanted, env: {}, onNotice: (line: string) => notices.push(line) };
    const built = await buildImage({ ...options, offlineBase: 'use' });
    expect(built).toEqual({ name: wanted.name, base: offlineBaseName(PREFIX, wanted.root) });
    expect(notices[0]).toBe(`the base image node:24-bookworm-slim cannot be pulled: ${NO_ROUTE}`);
    expect(builds.at(-1)?.labels?.['pi-sandbox.base']).toBe(built.base);
  });

  it('S22: asks before it uses the offline base, and a no names the flag', async () => {
    const wanted = plan();
    const { engine } = cutOff(wanted.root);
    const reasons: string[] = [];
    const offlineBase = async (reason: string) => reasons.push(reason) < 0;
    await expect(buildImage({ engine, plan: wanted, env: {}, offlineBase })).rejects.toMatchObject({
      message: `the base image node:24-bookworm-slim cannot be pulled: ${NO_ROUTE}`,
      hint: expect.stringContaining('--offline-base'),
    });
    expect(reasons).toEqual([NO_ROUTE]);
  });

  it('S22: takes over the base of another installation under its own name and label', async () => {
    const wanted = plan();
    const { engine, builds } = cutOff(wanted.root);
    await buildImage({ engine, plan: wanted, env: {}, offlineBase: 'use' });
    const taken = builds.find(({ tags }) => tags.includes(offlineBaseName(PREFIX, wanted.root)));
    expect(taken?.labels).toEqual({ 'pi-sandbox.prefix': 't-', 'pi-sandbox.role': 'image-base' });
  });

  it('S22: asks nothing and pulls nothing once its own offline base is made', async () => {
    const wanted = plan();
    const { engine, builds } = cutOff(wanted.root, PREFIX);
    const built = await buildImage({ engine, plan: wanted, env: {}, offlineBase: 'never' });
    expect(built.base).toBe(offlineBaseName(PREFIX, wanted.root));
    expect(builds).toHaveLength(1);
  });

  it('S22: a step that fails later is no reason for the offline base, and keeps its full log', async () => {
    const wanted = plan();
    const log = 'Step 1/9 : ARG A\nStep 2/9 : FROM x\nStep 3/9 : RUN npm ci\nnpm error registry not found\n';
    const { engine, builds } = engineStandIn({ images: [], build: () => log });
    await expect(buildImage({ engine, plan: wanted, env: {}, offlineBase: 'use' })).rejects.toMatchObject({
      log,
    });
    expect(builds).toHaveLength(1);
  });

  it('S22: the user fragment is built on the session image, alone in its context', async () => {
    const wanted = plan('RUN apt-get install -y golang\n');
    const { engine, builds } = engineStandIn({ images: [] });
    await buildImage({ engine, plan: wanted, env: {}, offlineBase: 'never' });
    expect(builds.map(({ tags }) => tags)).toEqual([[wanted.plain?.name], [wanted.name]]);
    expect(String(builds[1]?.context)).toContain(`FROM ${wanted.plain?.name}\nRUN apt-get install -y golang`);
    expect(String(builds[1]?.context)).not.toContain('supervisor');
  });

  it('S22: a changed fragment alone does not build the session image again', async () => {
    const wanted = plan('RUN true\n');
    const plain = standInImage(wanted.plain?.name ?? '', { 'pi-sandbox.base': 'b' });
    const { engine, builds } = engineStandIn({ images: [plain] });
    expect(await ensureImage({ engine, plan: wanted, env: {}, offlineBase: 'never' })).toMatchObject({
      base: 'b',
      built: true,
    });
    expect(builds.map(({ tags }) => tags)).toEqual([[wanted.name]]);
  });

  it('S21: labels version, content hash and installation', async () => {
    const wanted = plan();
    const { engine, builds } = engineStandIn({ images: [] });
    await buildImage({ engine, plan: wanted, env: {}, offlineBase: 'never' });
    expect(builds[0]?.labels).toMatchObject({
      'pi-sandbox.prefix': 't-',
      'pi-sandbox.version': '9.9.9',
      'pi-sandbox.hash': wanted.hash,
    });
  });

  it('S10: hands on the proxy, and builds on the host network for one on loopback', async () => {
    const wanted = plan();
    const { engine, builds } = engineStandIn({ images: [] });
    const env = { HTTPS_PROXY: 'http://127.0.0.1:3128', NO_PROXY: 'localhost', ANTHROPIC_API_KEY: 'secret' };
    await buildImage({ engine, plan: wanted, env, offlineBase: 'never' });
    expect(builds[0]).toMatchObject({
      networkMode: 'host',
      buildArgs: { HTTPS_PROXY: 'http://127.0.0.1:3128' },
    });
    expect(JSON.stringify(builds[0]?.buildArgs)).not.toContain('secret');
    expect(
      hasLoopbackProxy(proxyArguments({ http_proxy: 'http://proxy.lan:8080', no_proxy: '127.0.0.1' })),
    ).toBe(false);
    expect(hasLoopbackProxy(proxyArguments({ http_proxy: 'http://me:pw@[::1]:8080' }))).toBe(true);
  });

  it.each([
    ['Step 7/23 : RUN set -eu;     apt-get update', 'image 7/23: RUN set -eu; apt-get update'],
    ['STEP 2/9: COPY a b', 'image 2/9: COPY a b'],
    ['npm error code', undefined],
  ])('S21: the progress line of %j', (line, shown) => {
    expect(stepLine(line)).toBe(shown);
  });

  it('S22: recognises a failed pull of Podman and of an engine that tells no step', () => {
    const failed = (log: string) => pullFailure(new ImageBuildError('e', 'm', log));
    expect(failed('STEP 1/2: FROM x\nTrying to pull x...\nError: initializing source\n')).toBe(
      'Error: initializing source',
    );
    expect(failed('pull access denied for x\n')).toBe('pull access denied for x');
    expect(failed('Dockerfile parse error line 3\n')).toBeUndefined();
  });
});

describe('image prune', () => {
  it('S21: removes old images of this installation, never others, never the current, never one in use', async () => {
    const wanted = plan();
    const ours = (role: string) => ({ 'pi-sandbox.prefix': 't-', 'pi-sandbox.role': role });
    const { engine, removed } = engineStandIn({
      images: [
        standInImage(wanted.name, ours('image')),
        standInImage(offlineBaseName(PREFIX, wanted.root), ours('image-base')),
        standInImage('t-pi-sandbox:0000000000000000', ours('image')),
        standInImage('t-pi-sandbox:1111111111111111', ours('image')),
        standInImage('t-pi-sandbox-base:0000000000000000', ours('image-base')),
        standInImage('my-copy:latest', ours('image')),
        standInImage('pi-sandbox:0000000000000000', { 'pi-sandbox.prefix': '', 'pi-sandbox.role': 'image' }),
        standInImage('t-pi-sandbox:2222222222222222', {}),
      ],
      inUse: ['t-pi-sandbox:1111111111111111'],
    });
    expect(
      (await pruneImages(engine, wanted, { dryRun: true })).every(
        ({ outcome }) => outcome === 'would-remove',
      ),
    ).toBe(true);
    expect(removed).toEqual([]);
    const pruned = await pruneImages(engine, wanted);
    expect(removed.sort()).toEqual(['t-pi-sandbox-base:0000000000000000', 't-pi-sandbox:0000000000000000']);
    expect(pruned.find(({ outcome }) => outcome === 'in-use')?.name).toBe('t-pi-sandbox:1111111111111111');
  });

  it('S21: status tells current, stale and missing apart', async () => {
    const wanted = plan();
    const labels = { 'pi-sandbox.prefix': 't-', 'pi-sandbox.role': 'image' };
    const state = async (...names: string[]) =>
      (
        await imageStatus(
          engineStandIn({ images: names.map((name) => standInImage(name, labels)) }).engine,
          wanted,
        )
      ).state;
    expect(await state()).toBe('missing');
    expect(await state('t-pi-sandbox:0000000000000000')).toBe('stale');
    expect(await state(wanted.name, 't-pi-sandbox:0000000000000000')).toBe('current');
  });
});
