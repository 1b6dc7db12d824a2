import { chmodSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { extract } from 'tar-stream';
import { describe, expect, it } from 'vitest';
import { NO_PREFIX } from '../../../src/cli/config/keys.ts';
import { certificateFile } from '../../../src/cli/sandbox/image-build-arguments.ts';
import {
  contentHash,
  packageRoot,
  packContext,
  readContext,
} from '../../../src/cli/sandbox/image-context.ts';
import { type ImageSettings, planImage } from '../../../src/cli/sandbox/image-plan.ts';
import { packageFixture, put } from '../../setup/package-fixture.ts';

const SETTINGS: ImageSettings = {
  BASE_IMAGE: 'node:24-bookworm-slim',
  IMAGE_EXTRA: undefined,
  PI_VERSION: '1.6.0',
};

describe('the image context', () => {
  it('S21: holds the listed files only, whatever else lies in the package', async () => {
    const root = packageFixture();
    put(root, '.env', 'SECRET=1');
    put(root, 'docker/private.key', 'secret');
    put(root, 'src/cli/main.ts', '// source');
    const names: string[] = [];
    const archive = extract();
    archive.end(await packContext(readContext(root)));
    for await (const entry of archive) {
      names.push(entry.header.name);
      entry.resume();
    }
    expect(names).toContain('docker/Dockerfile');
    expect(names).toContain('dist/container/extensions/session-lock.mjs');
    expect(names.filter((name) => /env|key|src\//.test(name))).toEqual([]);
  });

  it('S21: .dockerignore lets a build by hand send the same files', () => {
    const root = join(import.meta.dirname, '../../..');
    const allowed = readFileSync(join(root, '.dockerignore'), 'utf8')
      .split('\n')
      .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []));
    const sent = readContext(packageFixture()).map(({ path }) => path);
    expect(
      sent.filter((path) => !allowed.some((entry) => path === entry || path.startsWith(`${entry}/`))),
    ).toEqual([]);
  });

  it('S21: the tar is the same for the same files, whatever their times and modes on disk', async () => {
    const root = packageFixture();
    const before = await packContext(readContext(root));
    chmodSync(join(root, 'docker/bin/pi'), 0o600);
    put(root, 'docker/Dockerfile', readFileSync(join(root, 'docker/Dockerfile'), 'utf8'));
    expect((await packContext(readContext(root))).equals(before)).toBe(true);
  });

  it('S21: a package that was not built says so and what to run', () => {
    const root = packageFixture();
    rmSync(join(root, 'dist/container/extensions/session-lock.mjs'));
    expect(() => readContext(root)).toThrow(
      expect.objectContaining({
        message: expect.stringContaining('dist/container/extensions/session-lock.mjs'),
        hint: 'npm run build',
      }),
    );
  });

  it('finds the package above the module that asks', () => {
    const root = packageFixture();
    expect(packageRoot(join(root, 'dist/container'))).toBe(root);
    expect(() => packageRoot('/')).toThrow(/install|not found/);
  });
});

describe('the image name', () => {
  it('S21: changes with every file, the base, the version of pi and the user fragment', () => {
    const root = packageFixture();
    const fragment = join(root, 'extra');
    put(root, 'extra', 'RUN true\n');
    const name = (settings: Partial<ImageSettings> = {}) =>
      planImage(NO_PREFIX, { ...SETTINGS, ...settings }, root).name;
    const names = [
      name(),
      name({ BASE_IMAGE: 'offline' }),
      name({ PI_VERSION: '1.6.1' }),
      name({ IMAGE_EXTRA: fragment }),
    ];
    put(root, 'extra', 'RUN false\n');
    names.push(name({ IMAGE_EXTRA: fragment }));
    put(root, 'dist/container/supervisor.mjs', '// changed');
    names.push(name());
    expect(new Set(names).size).toBe(names.length);
    expect(names.every((one) => /^pi-sandbox:[0-9a-f]{16}$/.test(one))).toBe(true);
    expect(name()).toBe(names.at(-1));
  });

  it('S21: a file moved to another name is another content', () => {
    const file = (path: string, content: string) => ({
      path,
      content: Buffer.from(content),
      executable: false,
    });
    expect(contentHash([file('ab', 'c')], {})).not.toBe(contentHash([file('a', 'bc')], {}));
  });

  it('S10: does not change with the certificates used while building', () => {
    const root = packageFixture();
    put(root, 'ca.pem', '-----BEGIN CERTIFICATE-----\n');
    expect(certificateFile(join(root, 'ca.pem')).map(({ path }) => path)).toEqual([
      'docker/ca-certificates.crt',
    ]);
    expect(readContext(root).some(({ path }) => path.endsWith('.crt'))).toBe(false);
  });

  it('S10: a certificate file that is none names the file and the keys to change', () => {
    const root = packageFixture();
    put(root, 'ca.pem', 'not one');
    expect(() => certificateFile(join(root, 'ca.pem'))).toThrow(
      expect.objectContaining({
        message: expect.stringContaining('ca.pem: not usable as certificates'),
        hint: expect.stringContaining('CA_CERTIFICATES'),
        exitCode: 2,
      }),
    );
  });

  it.each(['FROM scratch', '  entrypoint ["sh"]'])(
    'S22: a fragment with %j is refused with its line',
    (line) => {
      const root = packageFixture();
      put(root, 'extra', `RUN true\n${line}\n`);
      expect(() => planImage(NO_PREFIX, { ...SETTINGS, IMAGE_EXTRA: join(root, 'extra') }, root)).toThrow(
        /extra:2: /,
      );
    },
  );
});
