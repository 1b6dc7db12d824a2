/**
 * How the session image and its base are built, named and removed, on a real engine. The Dockerfile is a tiny one, so
 * that each build takes a moment; test/e2e/image.test.ts has the real one.
 */
import { createServer } from 'node:http';
import { describe, expect, onTestFinished } from 'vitest';
import { buildImage, ensureImage, imageStatus, planImage, pruneImages } from '../../src/cli/sandbox/image.ts';
import { offlineBaseName } from '../../src/cli/sandbox/offline-base.ts';
import { engineOf } from '../setup/engines.ts';
import { put } from '../setup/package-fixture.ts';
import { it, owned } from './image-build-fixture.ts';

/** Names below .invalid resolve nowhere (RFC 2606). */
const OUT_OF_REACH = 'registry.invalid/nothing:1';
const CANNOT_PULL = /^the base image registry\.invalid\/nothing:1 cannot be pulled: .*registry\.invalid.*$/;

/** A proxy on this machine's loopback, which notes what it is asked for. */
async function loopbackProxy(): Promise<{ url: string; asked: (string | undefined)[] }> {
  const asked: (string | undefined)[] = [];
  const proxy = createServer(({ url }, response) => void response.end(String(asked.push(url))));
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void proxy.close());
  const address = proxy.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  return { url: `http://127.0.0.1:${address.port}`, asked };
}

describe('building the image', () => {
  it('S21: labels version, content hash, installation and base, and tells the steps', async ({ site }) => {
    const plan = site.plan();
    const { options, progress } = site.told();
    await buildImage({ ...options, plan, offlineBase: 'never' });
    expect(await site.labels(plan.name)).toMatchObject({
      ...owned(site.prefix, 'image'),
      'pi-sandbox.version': '9.9.9',
      'pi-sandbox.hash': plan.hash,
      'pi-sandbox.base': site.base,
    });
    expect(progress).toContainEqual(expect.stringMatching(/^image 3\/\d+: COPY dist\/container \/opt\/$/));
  });

  it('S21: what is there is not built again', async ({ site }) => {
    const plan = site.plan();
    const first = site.told();
    const second = site.told();
    const built = await ensureImage({ ...first.options, plan, offlineBase: 'never' });
    expect(built).toEqual({ name: plan.name, base: site.base, built: true });
    const again = await ensureImage({ ...second.options, plan, offlineBase: 'never' });
    expect(again).toEqual({ ...built, built: false });
    expect([first.log.length > 0, second.log]).toEqual([true, []]);
  });

  it('S21: a step that fails keeps its full log, and is no reason for the offline base', async ({ site }) => {
    const plan = site.plan({ steps: ['RUN echo npm error registry not found; exit 3'] });
    await site.makeBase(plan, site.other);
    const { options } = site.told();
    await expect(buildImage({ ...options, plan, offlineBase: 'use' })).rejects.toMatchObject({
      log: expect.stringMatching(/^Step 1\/\d+ : ARG .*\nnpm error registry not found\n.*code: 3\n$/s),
    });
    expect(await site.names(site.prefix)).toEqual([]);
  });

  it('S10: a proxy on loopback is reached by a step, and stays out of the image', async ({ site }) => {
    const { url, asked } = await loopbackProxy();
    const plan = site.plan({ steps: ['RUN busybox wget -q -O /answer http://package.invalid/list; env'] });
    const { options, log } = site.told();
    const env = { http_proxy: url, ANTHROPIC_API_KEY: 'secret' };
    await buildImage({ ...options, plan, env, offlineBase: 'never' });
    expect(asked).toEqual(['http://package.invalid/list']);
    expect(log).toContain(`http_proxy=${url}`);
    expect(log.join('\n')).not.toContain('secret');
    const history = await engineOf('docker').command(['history', '--no-trunc', plan.name]);
    expect(history).toContain('package.invalid');
    expect(history).not.toContain(url);
  });
});

describe('IMAGE_EXTRA', () => {
  it('S22: is built on the session image, alone in its context', async ({ site }) => {
    const extra =
      'COPY . /seen/\nRUN test "$(ls -A /seen)" = Dockerfile && grep supervisor /opt/supervisor.mjs\n';
    const plan = site.plan({ extra });
    const { options, log } = site.told();
    const built = await buildImage({ ...options, plan, offlineBase: 'never' });
    expect(built).toEqual({ name: plan.name, base: site.base });
    expect(log).toContain('// supervisor');
    expect(await site.names(site.prefix)).toEqual([plan.name, plan.plain?.name].sort());
    expect((await site.labels(plan.name))?.['pi-sandbox.hash']).toBe(plan.hash);
    expect((await site.labels(plan.plain?.name ?? ''))?.['pi-sandbox.hash']).toBe(plan.plain?.hash);
  });

  it('S22: a changed fragment alone does not build the session image again', async ({ site }) => {
    const plan = site.plan({ extra: 'ENV MINE=1\n' });
    await buildImage({ ...site.told().options, plan, offlineBase: 'never' });
    put(plan.root, 'extra', 'ENV MINE=2\n');
    const changed = planImage(site.prefix, plan.settings, plan.root);
    const { options, log } = site.told();
    const ensured = await ensureImage({ ...options, plan: changed, offlineBase: 'never' });
    expect(ensured).toEqual({ name: changed.name, base: site.base, built: true });
    expect(changed.name).not.toBe(plan.name);
    expect(log[0]).toMatch(/^Step 1\/\d+ : FROM /);
    expect(log[0]).toContain(plan.plain?.name);
    expect(log.join('\n')).not.toContain('COPY');
  });
});

describe('the offline base', () => {
  it('S22: says that the base cannot be pulled and builds on the offline base when told to', async ({
    site,
  }) => {
    const plan = site.plan({ base: OUT_OF_REACH });
    await site.makeBase(plan, site.other);
    const { options, notices } = site.told();
    const built = await buildImage({ ...options, plan, offlineBase: 'use' });
    expect(built).toEqual({ name: plan.name, base: offlineBaseName(site.prefix, plan.root) });
    expect(notices).toEqual([expect.stringMatching(CANNOT_PULL), expect.stringContaining('offline base')]);
    expect(await site.labels(plan.name)).toMatchObject({
      'made-by': site.other,
      'pi-sandbox.base': built.base,
    });
  });

  it('S22: asks before it uses the offline base, and a no names the flag', async ({ site }) => {
    const plan = site.plan({ base: OUT_OF_REACH });
    await site.makeBase(plan, site.other);
    const reasons: string[] = [];
    const offlineBase = async (reason: string) => reasons.push(reason) < 0;
    await expect(buildImage({ ...site.told().options, plan, offlineBase })).rejects.toMatchObject({
      message: expect.stringMatching(CANNOT_PULL),
      hint: expect.stringContaining('--offline-base'),
    });
    expect(reasons).toEqual([expect.stringMatching(/^.*registry\.invalid.*$/)]);
    expect(await site.names(site.prefix)).toEqual([]);
  });

  it('S22: takes over the base of another installation under its own name and label', async ({ site }) => {
    const plan = site.plan({ base: 'offline' });
    await site.makeBase(plan, site.other);
    const { options, notices, progress } = site.told();
    const { base } = await buildImage({ ...options, plan, offlineBase: 'never' });
    expect(base).toBe(offlineBaseName(site.prefix, plan.root));
    expect(await site.labels(base)).toMatchObject({
      ...owned(site.prefix, 'image-base'),
      'made-by': site.other,
    });
    const theirs = offlineBaseName(site.other, plan.root);
    expect(await site.labels(theirs)).toMatchObject(owned(site.other, 'image-base'));
    expect(progress).toContain(`offline base: taking over the base ${theirs}`);
    expect(notices).toEqual([]);
  });

  it('S22: asks nothing and pulls nothing once its own offline base is made', async ({ site }) => {
    const plan = site.plan({ base: OUT_OF_REACH });
    await site.makeBase(plan, site.prefix);
    const { options, notices, log } = site.told();
    const built = await buildImage({ ...options, plan, offlineBase: 'never' });
    expect(built.base).toBe(offlineBaseName(site.prefix, plan.root));
    expect(notices).toEqual([]);
    expect(log.join('\n')).not.toContain('registry.invalid');
  });

  it("S22: is made by the package's script where nobody has it, and imported as its own", async ({
    site,
  }) => {
    const script = 'echo packing >&2; tar -cf "$1" -C "$(dirname "$0")/../.." docker/skel';
    const plan = site.plan({ base: 'offline', script });
    const { options, progress } = site.told();
    const { base } = await buildImage({ ...options, plan, offlineBase: 'never' });
    expect(await site.labels(base)).toEqual(owned(site.prefix, 'image-base'));
    expect(progress).toEqual(expect.arrayContaining(['offline base: packing']));
  });

  it('S22: a script that cannot make it tells why, and leaves nothing on the engine', async ({ site }) => {
    const script = 'echo step one >&2; echo "offline base: needs root" >&2; exit 1';
    const plan = site.plan({ base: 'offline', script });
    await expect(buildImage({ ...site.told().options, plan, offlineBase: 'never' })).rejects.toMatchObject({
      message: 'the offline base could not be made: needs root',
      hint: expect.stringContaining('step one'),
    });
    expect(await site.names(site.prefix)).toEqual([]);
  });
});

describe('image prune and status', () => {
  it('S21: prune removes old images of this installation, never others, never the current, never one in use', async ({
    site,
  }) => {
    const { engine, prefix, other } = site;
    const plan = site.plan({ extra: 'ENV MINE=1\n' });
    const image = (owner: string, tag: string) => `${owner}pi-sandbox:${tag.repeat(16)}`;
    const oldBase = `${prefix}pi-sandbox-base:${'0'.repeat(16)}`;
    const kept = [plan.name, plan.plain?.name ?? '', image(prefix, '1'), `${prefix}copy:mine`];
    for (const name of [...kept, image(prefix, '0'), image(prefix, '3')])
      await site.make(name, owned(prefix, 'image'));
    for (const name of [oldBase, offlineBaseName(prefix, plan.root)])
      await site.make(name, owned(prefix, 'image-base'));
    await site.make(image(other, '0'), owned(other, 'image'));
    await site.use(image(prefix, '1'));
    // A user's own name for one of ours.
    await engine.images.tag(image(prefix, '3'), `${prefix}copy:three`);
    // A stage of an old build has no name: here it loses it to an image that only looks like ours.
    await site.make(image(prefix, '2'), owned(prefix, 'image-stage'));
    const stage = (await engine.images.inspect(image(prefix, '2')))?.id ?? '';
    await site.make(image(prefix, '2'), {});

    const expected = [image(prefix, '0'), oldBase, stage].sort();
    const planned = await pruneImages(engine, plan, { dryRun: true });
    expect(planned.map(({ name }) => name).sort()).toEqual([...expected, image(prefix, '1')].sort());
    expect(new Set(planned.map(({ outcome }) => outcome))).toEqual(new Set(['would-remove']));
    expect(await site.labels(oldBase)).toBeDefined();

    const pruned = await pruneImages(engine, plan);
    const named = (wanted: string) =>
      pruned.filter(({ outcome }) => outcome === wanted).map(({ name }) => name);
    expect(named('removed').sort()).toEqual(expected);
    expect(named('in-use')).toEqual([image(prefix, '1')]);
    const left = [...kept, offlineBaseName(prefix, plan.root), image(prefix, '3'), `${prefix}copy:three`];
    expect(await site.names(prefix)).toEqual(left.sort());
    expect(await site.names(other)).toEqual([image(other, '0')]);
    expect(await site.labels(image(prefix, '2'))).toBeDefined();
  });

  it('S21: status tells current, stale and missing apart', async ({ site }) => {
    const plan = site.plan();
    const state = async () => (await imageStatus(site.engine, plan)).state;
    await site.make(`${site.other}pi-sandbox:${'0'.repeat(16)}`, owned(site.other, 'image'));
    await site.makeBase(plan, site.prefix);
    expect(await state()).toBe('missing');
    await site.make(`${site.prefix}pi-sandbox:${'0'.repeat(16)}`, owned(site.prefix, 'image'));
    expect(await state()).toBe('stale');
    await site.make(plan.name, owned(site.prefix, 'image'));
    expect(await state()).toBe('current');
  });
});
