import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configCheck, configShow } from '../../../src/cli/commands/config.ts';
import { ConfigError } from '../../../src/lib/errors.ts';

let root: string;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'command-')));
  await mkdir(join(root, 'project'));
});
afterEach(() => rm(root, { recursive: true }));

async function put(path: string, content: string): Promise<string> {
  const full = join(root, path);
  await mkdir(dirname(full), { recursive: true });
  await writeFile(full, content);
  return full;
}
const own = (name: string, content: string) => put(`.config/pi-sandbox/${name}`, content);

function surroundings(env: Record<string, string> = {}) {
  const written = { out: '', err: '' };
  const stdout = { write: (text: string) => (written.out += text) };
  const stderr = { write: (text: string) => (written.err += text) };
  return { written, at: { env, home: root, cwd: join(root, 'project'), stdout, stderr } };
}

describe('config show', () => {
  it('S8: prints each key with its origin', async () => {
    const env = await own('.env', 'DOMAINS=work\nDOMAIN_WORK_PATHS=~/project\nPIDS=100\n');
    const settings = await own('config/settings.json', '{"compaction":{"enabled":true}}');
    await own('config/domains/work/SYSTEM.md', 'x');
    const { written, at } = surroundings({ PI_SANDBOX_CPUS: '2' });
    expect(await configShow(undefined, {}, at)).toBe(0);
    expect(written.out).toMatch(new RegExp(`PIDS +100 +${env}:3`));
    expect(written.out).toMatch(/CPUS +2 +environment variable PI_SANDBOX_CPUS/);
    expect(written.out).toMatch(/TMP_SIZE +1g +default/);
    expect(written.out).toMatch(/NETWORK_POOL +10\.213\.0\.0\/16 +default/);
    expect(written.out).toMatch(/IDLE_STOP_MINUTES +10 +default/);
    expect(written.out).toMatch(new RegExp(`settings.json +compaction.enabled +true +${settings}`));
    expect(written.out).toContain('config/SYSTEM.md');
    expect(written.out).toContain('domain work');
  });

  it('S10: what looks like a secret is hidden, in the table and in JSON', async () => {
    await own(
      'config/models.json',
      JSON.stringify({
        providers: {
          a: { apiKey: 'hidden-1', headers: { 'X-Auth': 'hidden-2' }, baseUrl: 'https://u:hidden-3@h' },
          b: { apiKey: '$VISIBLE' },
        },
      }),
    );
    await own(
      'config/mcp.json',
      JSON.stringify({
        mcpServers: {
          s: {
            command: 'x',
            args: ['--api-key', 'hidden-4', '--token=hidden-5'],
            env: { K: 'hidden-6' },
            oauth: { clientSecret: 'hidden-7' },
          },
        },
      }),
    );
    for (const json of [true, false]) {
      const { written, at } = surroundings();
      await configShow(undefined, { json }, at);
      expect(written.out).not.toMatch(/hidden-\d/);
      expect(written.out).toContain('$VISIBLE');
      if (json) expect(JSON.parse(written.out)).toMatchObject({ version: 1, domain: 'default' });
    }
  });

  it('S6: a bad value fails', async () => {
    await own('.env', 'PIDS=many\n');
    await expect(configShow(undefined, {}, surroundings().at)).rejects.toThrow(ConfigError);
  });
});

describe('config check', () => {
  it('S6: says so when there is nothing to say', async () => {
    const { written, at } = surroundings();
    expect(await configCheck(undefined, {}, at)).toBe(0);
    expect(written.out).toBe('no problems found\n');
  });

  it('S6: reports every error and warning at once, and exits 2', async () => {
    await own(
      '.env',
      'DOMAINS=work,acme\nSESSION_RETENTION_DAYS=3\nDOMAIN_WORK_PATHS=~/x\nDOMAIN_ACME_PATHS=~/x\nPASS_ENV=A_KEY\nIMAGE_EXTRA=missing\n',
    );
    await own('config/domains/acme/settings.json', '{');
    const { written, at } = surroundings();
    expect(await configCheck(undefined, {}, at)).toBe(2);
    for (const part of [
      'did you mean SESSIONS_RETENTION_DAYS?',
      'both claim',
      'does not exist yet',
      'A_KEY is not set',
      'IMAGE_EXTRA names',
      'settings.json:1:2: this is not valid JSON',
    ]) {
      expect(written.out).toContain(part);
    }
  });

  it('S6: warnings alone do not fail, bad values do; --json says the same', async () => {
    await own('.env', 'DOMIANS=x\n');
    const first = surroundings();
    expect(await configCheck(undefined, { json: true }, first.at)).toBe(0);
    expect(JSON.parse(first.written.out)).toMatchObject({ ok: true, findings: [{ level: 'warning' }] });
    await own('.env', 'PIDS=x\nCPUS=y\nDOMIANS=x\n');
    const second = surroundings();
    expect(await configCheck(undefined, { json: true }, second.at)).toBe(2);
    expect(JSON.parse(second.written.out).findings).toHaveLength(3);
  });

  it("S8: a project's own files are checked too", async () => {
    await put('project/.pi-sandbox/mcp.json', '{"mcpServers":{"x":{"command":"y"}}}');
    const { written, at } = surroundings();
    expect(await configCheck(undefined, {}, at)).toBe(0);
    expect(written.out).toContain('ignored without your consent: MCP server x: runs y');
  });
});
