/** What a build makes of the words it is given; test/e2e/image-build.test.ts builds on a real engine. */
import { describe, expect, it } from 'vitest';
import { pullFailure, stepLine } from '../../../src/cli/sandbox/image-build.ts';
import { hasLoopbackProxy, proxyArguments } from '../../../src/cli/sandbox/image-build-arguments.ts';
import { ImageBuildError } from '../../../src/engine/index.ts';

const NO_ROUTE = 'Get "https://registry.example/v2/": dial tcp: lookup registry.example: no such host';

describe("a build's log", () => {
  it.each([
    ['Step 7/23 : RUN set -eu;     apt-get update', 'image 7/23: RUN set -eu; apt-get update'],
    ['STEP 2/9: COPY a b', 'image 2/9: COPY a b'],
    [`Step 1/1 : RUN ${'x'.repeat(80)}`, `image 1/1: RUN ${'x'.repeat(55)}…`],
    ['npm error code', undefined],
  ])('S21: the progress line of %j', (line, shown) => {
    expect(stepLine(line)).toBe(shown);
  });

  const failed = (log: string) => pullFailure(new ImageBuildError('e', 'm', log));

  it('S22: the last line of a log that ends at a FROM is why the base cannot be pulled', () => {
    expect(failed(`Step 1/9 : ARG A\nStep 2/9 : FROM x AS modules\n${NO_ROUTE}\n`)).toBe(NO_ROUTE);
    expect(
      failed(`Step 1/9 : FROM x\nStep 2/9 : RUN npm ci\nnpm error registry not found\n`),
    ).toBeUndefined();
  });

  it('S22: recognises a failed pull of Podman and of an engine that tells no step', () => {
    expect(failed('STEP 1/2: FROM x\nTrying to pull x...\nError: initializing source\n')).toBe(
      'Error: initializing source',
    );
    expect(failed('pull access denied for x\n')).toBe('pull access denied for x');
    expect(failed('Dockerfile parse error line 3\n')).toBeUndefined();
  });

  it('S22: an error that is none of a build is no failed pull', () => {
    expect(pullFailure(new Error('pull access denied'))).toBeUndefined();
  });
});

describe('the proxy of a build', () => {
  it('S10: hands on the proxy variables that have a value, and no other', () => {
    const env = {
      HTTPS_PROXY: 'http://proxy.lan:1',
      no_proxy: 'localhost',
      http_proxy: '',
      API_KEY: 'secret',
    };
    expect(proxyArguments(env)).toEqual({ HTTPS_PROXY: 'http://proxy.lan:1', no_proxy: 'localhost' });
  });

  it.each([
    [{ HTTPS_PROXY: 'http://127.0.0.1:3128' }, true],
    [{ http_proxy: 'http://me:pw@[::1]:8080' }, true],
    [{ http_proxy: 'localhost:8080' }, true],
    [{ http_proxy: 'http://proxy.lan:8080', no_proxy: '127.0.0.1' }, false],
    [{ http_proxy: 'http://localhost.lan:8080' }, false],
  ])('S10: %j is on loopback: %s', (env, loopback) => {
    expect(hasLoopbackProxy(proxyArguments(env))).toBe(loopback);
  });
});
