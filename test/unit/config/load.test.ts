import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CanonicalPath, domainOf, examineConfig, loadConfig } from '../../../src/cli/config/index.ts';
import { ConfigError, UsageError } from '../../../src/lib/errors.ts';

let home: string;
let directory: string;

beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'config-')));
  directory = join(home, '.config', 'pi-sandbox');
  await mkdir(directory, { recursive: true });
});
afterEach(() => rm(home, { recursive: true }));

const write = (text: string) => writeFile(join(directory, '.env'), text);
const load = (env: Record<string, string> = {}) => loadConfig({ env, home });
const project = (path: string) => CanonicalPath.parse(path);

describe('.env and the environment', () => {
  it('S6: without any configuration everything has its default', async () => {
    const config = await load();
    expect(config).toMatchObject({
      INSTALLATION_PREFIX: '',
      IDLE_STOP_MINUTES: 10,
      PIDS: 2048,
      TMP_SIZE: 1024 ** 3,
      NETWORK: 'open',
      SESSIONS_RETENTION_DAYS: 30,
      SESSIONS_TRASH_DAYS: 7,
      PROTECT_GIT: true,
      directory,
      warnings: [],
    });
    expect(config.MEMORY).toBeUndefined();
  });

  it('S6: the process environment wins over .env, and an empty value means the default', async () => {
    await write('PIDS=100\nCPUS=2\nIDLE_STOP_MINUTES=3\n');
    const config = await load({ PI_SANDBOX_PIDS: '200', PI_SANDBOX_IDLE_STOP_MINUTES: '', CPUS: '7' });
    expect(config).toMatchObject({ PIDS: 200, CPUS: 2, IDLE_STOP_MINUTES: 10 });
  });

  it('S6: the directory is $PI_SANDBOX_CONFIG_DIR, else below $XDG_CONFIG_HOME', async () => {
    expect((await load({ PI_SANDBOX_CONFIG_DIR: '~/mine' })).directory).toBe(join(home, 'mine'));
    expect((await load({ XDG_CONFIG_HOME: '/xdg' })).directory).toBe('/xdg/pi-sandbox');
    expect((await load({ XDG_CONFIG_HOME: 'relative' })).directory).toBe(directory);
  });

  it('S6: values are typed', async () => {
    await write(
      'MEMORY=1.5g # half\nTMP_SIZE="512M"\nPRIVATE_PACKAGES=yes\nPASS_ENV= A_KEY, B_KEY ,\nNETWORK_POOL=192.168.64.0/18\nIDLE_STOP_MINUTES=0.5\nCA_CERTIFICATES=ca.pem\n',
    );
    expect(await load()).toMatchObject({
      MEMORY: 1.5 * 1024 ** 3,
      TMP_SIZE: 512 * 1024 ** 2,
      PRIVATE_PACKAGES: true,
      PASS_ENV: ['A_KEY', 'B_KEY'],
      NETWORK_POOL: { address: '192.168.64.0', prefixLength: 18 },
      IDLE_STOP_MINUTES: 0.5,
      CA_CERTIFICATES: join(directory, 'ca.pem'),
    });
  });

  it.each([
    ['SESSIONS_RETENTION_DAYS', '-1', 'whole number from 0'],
    ['SESSIONS_RETENTION_DAYS', '1.5', 'whole number from 0'],
    ['SESSIONS_RETENTION_DAYS', 'soon', 'whole number from 0'],
    ['SESSIONS_WORK_RETENTION_DAYS', '1e3', 'whole number from 0'],
    ['SESSIONS_TRASH_DAYS', '-1', 'whole number from 0'],
    ['SESSIONS_TRASH_DAYS', '0.5', 'whole number from 0'],
    ['DOMAINS', 'work,Work!', 'comma-separated list of domain names'],
    ['DOMAINS', 'work,work', 'each once'],
    ['DOMAIN_WORK_PATHS', 'relative/dir', 'absolute or from ~/'],
    ['DEFAULT_DOMAIN', 'other', 'one of DOMAINS: work'],
    ['MEMORY', '4 gigs', 'a size such as'],
    ['MEMORY', '1m', 'at least 128m'],
    ['CPUS', '0', 'number from 0.01'],
    ['NETWORK', 'allowlist', 'open or none'],
    ['NETWORK_POOL', '8.8.8.0/24', 'private IPv4 range'],
    ['NETWORK_POOL', '10.0.0.1/16', 'private IPv4 range'],
    ['PROTECT_GIT', 'maybe', 'true or false'],
    ['INSTALLATION_PREFIX', 'pi-sessions-', 'none of'],
    ['SHARED_LINKS', '../x', 'below the home directory'],
    ['SHARED_LINKS', '.config', 'below the home directory'],
    ['PASS_ENV', 'HOME', 'variable names'],
    ['PI_VERSION', 'latest', 'an exact version'],
    ['ENGINES', 'a b', 'docker context'],
    ['BASE_IMAGE', '--help', 'image reference'],
  ])('S6: a bad value names key, value, place and what is allowed (%s=%s)', async (key, value, allowed) => {
    const lines = ['# comment', key === 'DOMAINS' ? '' : 'DOMAINS=work', `${key}=${value}`];
    await write(`${lines.join('\n')}\n`);
    const failure = await load().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ConfigError);
    const message = failure instanceof Error ? failure.message : '';
    expect(message).toContain(`${join(directory, '.env')}:3: ${key} is "${value}"; allowed: `);
    expect(message).toContain(allowed);
  });

  it('S6: a bad value from the environment names the variable', async () => {
    await expect(load({ PI_SANDBOX_PIDS: 'many' })).rejects.toThrow(
      /^environment variable PI_SANDBOX_PIDS: PIDS is "many"/,
    );
  });

  it('S6: the first problem is thrown, all are found', async () => {
    await write('PIDS=x\nCPUS=y\n');
    const { problems } = await examineConfig({ env: {}, home });
    expect(problems.map(({ where }) => where.split(':').at(-1))).toEqual(expect.arrayContaining(['1', '2']));
    await expect(load()).rejects.toMatchObject({ hint: expect.stringContaining('config check') });
  });

  it('S10: a secret written into PASS_ENV is not repeated, nor a password inside a URL', async () => {
    await expect(load({ PI_SANDBOX_PASS_ENV: 'A_KEY=sk-very-secret' })).rejects.toThrow(
      /^(?!.*very-secret).*A_KEY=\*\*\*/,
    );
    await expect(load({ PI_SANDBOX_ENGINE: 'ftp://me:secret@host' })).rejects.toThrow(/^(?!.*secret)/);
  });

  it('S6: .env must be a regular file of bounded size', async () => {
    await write(`# ${'x'.repeat(300_000)}`);
    await expect(load()).rejects.toThrow(/limit for this file/);
    await rm(join(directory, '.env'));
    await mkdir(join(directory, '.env'));
    await expect(load()).rejects.toThrow(/not a regular file/);
  });
});

describe('keys without effect', () => {
  it.each([
    ['SESSION_RETENTION_DAYS', 'did you mean SESSIONS_RETENTION_DAYS?'],
    ['DOMIANS', 'did you mean DOMAINS?'],
    ['DOMAIN_WROK_PATHS', 'names no domain of DOMAINS and has no effect; did you mean DOMAIN_WORK_PATHS?'],
    ['SESSION_WORK_RETENTION_DAYS', 'did you mean SESSIONS_WORK_RETENTION_DAYS?'],
    ['PI_SANDBOX_PIDS', 'in this file the key is PIDS'],
    ['PI_SANDBOX_CONFIG_DIR', 'read from the environment only'],
    ['NOTIFY_COMMAND', 'not supported by this version'],
    ['DOMAIN_WORK_NETWORK', 'not supported by this version'],
    ['DOMAIN_WORK_NETWORK', 'not supported by this version'],
    ['ANTHROPIC_API_KEY', 'name it in PASS_ENV'],
    ['ZZZ', 'unknown key ZZZ has no effect'],
  ])('S6: %s in .env is a warning: %s', async (key, sentence) => {
    await write(`DOMAINS=work\n${key}=secret-value\n`);
    const { warnings } = await load();
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(`${join(directory, '.env')}:2: `);
    expect(warnings[0]).toContain(sentence);
    expect(warnings[0]).not.toContain('secret-value');
  });

  it('S6: so is one in the environment', async () => {
    const { warnings } = await load({
      PI_SANDBOX_SESSION_RETENTION_DAYS: '3',
      PI_SANDBOX_SETUP: 'no',
      OTHER: 'x',
    });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('did you mean PI_SANDBOX_SESSIONS_RETENTION_DAYS?');
  });

  it('S6: a line that is no assignment is a warning, part of a quoted value is not', async () => {
    await write('PIDS 100\n');
    expect((await load()).warnings[0]).toContain('.env:1: this line is not KEY=value');
    await write('PASS_ENV="A,\nB"\n');
    expect((await load()).warnings).toEqual([]);
  });

  it('S6: the number of warnings is bounded', async () => {
    await write(Array.from({ length: 100 }, (_, index) => `QQ${index}=1`).join('\n'));
    expect((await load()).warnings).toHaveLength(21);
  });
});

describe('domains', () => {
  it('S7: with no configuration at all there is one domain', async () => {
    const config = await load();
    expect(domainOf(config, project('/anywhere'))).toBe('default');
    expect(() => domainOf(config, project('/anywhere'), 'work')).toThrow(/the domains are: default/);
  });

  it('S7: an empty DOMAINS is no DOMAINS', async () => {
    expect(domainOf(await load({ PI_SANDBOX_DOMAINS: '' }), project('/anywhere'))).toBe('default');
  });

  it('S7: the longest matching canonical path wins, and whole directory names are compared', async () => {
    await mkdir(join(home, 'work'));
    await symlink(join(home, 'work'), join(home, 'link'));
    await write(
      'DOMAINS=work,acme\nDOMAIN_WORK_PATHS=~/link\nDOMAIN_ACME_PATHS=~/work/acme:~/not-yet/there\nDEFAULT_DOMAIN=work\n',
    );
    const config = await load();
    expect(domainOf(config, project(join(home, 'work/x')))).toBe('work');
    expect(domainOf(config, project(join(home, 'work/acme/x')))).toBe('acme');
    expect(domainOf(config, project(join(home, 'work/acme-2')))).toBe('work');
    expect(domainOf(config, project(join(home, 'not-yet/there')))).toBe('acme');
    expect(domainOf(config, project('/'), 'acme')).toBe('acme');
  });

  it('S7: a colon inside a path can be escaped', async () => {
    await write('DOMAINS=work\nDOMAIN_WORK_PATHS=/a\\:b:/c\n');
    expect((await load()).domains[0]?.paths).toEqual(['/a:b', '/c']);
  });

  it('S7: a tie is an error', async () => {
    await write('DOMAINS=work,acme\nDOMAIN_WORK_PATHS=~/x\nDOMAIN_ACME_PATHS=~/x/\n');
    const config = await load();
    expect(() => domainOf(config, project(join(home, 'x/y')))).toThrow(ConfigError);
  });

  it('S7: a project outside all paths is an error that lists the domains', async () => {
    await write('DOMAINS=work,a-b\nDOMAIN_A_B_PATHS=/srv\n');
    const config = await load();
    expect(domainOf(config, project('/srv/x'))).toBe('a-b');
    expect(() => domainOf(config, project('/elsewhere'))).toThrow(UsageError);
    expect(() => domainOf(config, project('/elsewhere'))).toThrow(/the domains are: work, a-b/);
  });

  it('S7: one configured domain is not chosen without a path or DEFAULT_DOMAIN', async () => {
    await write('DOMAINS=work\n');
    const config = await load();
    expect(() => domainOf(config, project('/elsewhere'))).toThrow(UsageError);
  });

  it('S11: retention is per domain, else the general one', async () => {
    await write('DOMAINS=work,acme\nSESSIONS_RETENTION_DAYS=10\nSESSIONS_ACME_RETENTION_DAYS=0\n');
    const { domains } = await load();
    expect(domains.map(({ sessionsRetentionDays }) => sessionsRetentionDays)).toEqual([10, 0]);
  });
});
