import { mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  CanonicalPath,
  type Config,
  domainOf,
  legacyTable,
  loadConfig,
} from '../../../src/cli/config/index.ts';
import { domainOfCwd } from '../../../src/history/index.ts';
import { ConfigError, UsageError } from '../../../src/lib/errors.ts';
import { tableFingerprint } from '../../../src/wire/index.ts';

let home: string;

beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'legacy-table-')));
});
afterEach(() => rm(home, { recursive: true }));

const load = (keys: Record<string, string>) => {
  const env = Object.fromEntries(Object.entries(keys).map(([key, value]) => [`PI_SANDBOX_${key}`, value]));
  return loadConfig({ env, home });
};
const domainIn = (config: Config, cwd: string) => domainOfCwd(legacyTable(config), cwd);

describe('S12: the decisions for old history', () => {
  it('S12: without domains everything is of the one there is', async () => {
    const config = await load({});
    expect(domainIn(config, '/anywhere/at/all')).toBe('default');
  });

  it('S12: outside of all directories it is the default domain’s, or nobody’s', async () => {
    const keys = { DOMAINS: 'work,own', DOMAIN_WORK_PATHS: '/srv/work' };
    expect(domainIn(await load(keys), '/srv/other')).toBeUndefined();
    expect(domainIn(await load({ ...keys, DEFAULT_DOMAIN: 'own' }), '/srv/other')).toBe('own');
  });

  it('S12: a directory counts as it was written and as it really is', async () => {
    await mkdir(join(home, 'disk/work'), { recursive: true });
    await symlink(join(home, 'disk/work'), join(home, 'work'));
    const config = await load({ DOMAINS: 'work', DOMAIN_WORK_PATHS: '~/work' });
    expect(domainIn(config, join(home, 'work/shop'))).toBe('work');
    expect(domainIn(config, join(home, 'disk/work/shop'))).toBe('work');
    expect(domainIn(config, join(home, 'disk/workshop'))).toBeUndefined();
  });

  it('S12: LEGACY_PATHS take part, the longest path wins, and what is said of the old layout goes first', async () => {
    const config = await load({
      DOMAINS: 'work,own',
      DOMAIN_WORK_PATHS: '/workspace/acme/x:/both',
      LEGACY_PATHS: '/workspace/acme=own, /both/=own',
    });
    expect(domainIn(config, '/workspace/acme/y')).toBe('own');
    expect(domainIn(config, '/workspace/acme/x/y')).toBe('work');
    expect(domainIn(config, '/both')).toBe('own');
  });

  it('S12: a path that is given to two domains is an error, not a choice', async () => {
    const loading = load({ DOMAINS: 'work,own', LEGACY_PATHS: '/a=work,/a/=own' });
    await expect(loading).rejects.toThrow(ConfigError);
    await expect(loading).rejects.toThrow(/LEGACY_PATHS .*each once/);
  });

  it('S7, S12: an old Session belongs where a project of its directory would', async () => {
    const part = fc.constantFrom('a', 'b', 'a-b');
    const path = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => `/no-such/${parts.join('/')}`);
    const paths = fc.uniqueArray(path, { maxLength: 3 });
    const fallback = fc.option(fc.constantFrom('one', 'two'));
    await fc.assert(
      fc.asyncProperty(paths, paths, fallback, path, async (one, two, byDefault, cwd) => {
        const config = await load({
          DOMAINS: 'one,two',
          DOMAIN_ONE_PATHS: one.join(':'),
          DOMAIN_TWO_PATHS: two.filter((claimed) => !one.includes(claimed)).join(':'),
          DEFAULT_DOMAIN: byDefault ?? '',
        });
        expect(domainIn(config, cwd)).toBe(projectDomain(config, cwd));
      }),
      { seed: 7, numRuns: 150 },
    );
  });

  it('S12: the same decisions have one fingerprint, other ones another', async () => {
    const keys = { DOMAINS: 'work,own', DOMAIN_WORK_PATHS: '/a:/b' };
    const print = async (more: Record<string, string>) =>
      tableFingerprint(legacyTable(await load({ ...keys, ...more })));
    expect(await print({ DOMAIN_WORK_PATHS: '/b:/a' })).toBe(await print({}));
    expect(await print({ LEGACY_PATHS: '/c=own' })).not.toBe(await print({}));
  });
});

function projectDomain(config: Config, cwd: string): string | undefined {
  try {
    return domainOf(config, CanonicalPath.parse(cwd));
  } catch (error) {
    if (error instanceof UsageError) return undefined;
    throw error;
  }
}
