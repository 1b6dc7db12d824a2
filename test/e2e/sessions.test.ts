import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { PODMAN_INSTALLED, readyEngine } from '../setup/engines.ts';
import {
  fileOf,
  inHistory,
  inPlace,
  inTrash,
  linesOf,
  type Planted,
  plant,
} from '../setup/history-fixture.ts';
import { type Installation, installation, type RunOptions } from '../setup/installation.ts';
import { sandboxes } from '../setup/look.ts';
import { terminal } from '../setup/terminal.ts';

/**
 * `work` has a running sandbox, so its history is asked by exec; `private` has none, and `old` is not configured any
 * more: theirs are asked in a helper container.
 */
let here: Installation;
let work: string;
let own: string;
const OLD_DOMAIN = {
  env: { PI_SANDBOX_DOMAINS: 'work,private,empty,old', PI_SANDBOX_DEFAULT_DOMAIN: 'old' },
};
const IN_PRIVATE = { env: { PI_SANDBOX_DEFAULT_DOMAIN: 'private' } };

const FRESH: Planted = {
  id: 'fresh-1',
  days: 2,
  cwd: '/p/shop',
  name: 'fix the tests',
  text: 'what is red?',
};
const EXPIRED: Planted = { id: 'stale-1', days: 45, cwd: '/p/shop' };
const SECRET: Planted = { id: 'secret-1', days: 3, cwd: '/p/diary', text: 'for nobody else' };
const FORGOTTEN: Planted = { id: 'forgotten-1', days: 700, cwd: '/p/gone' };

beforeAll(async () => {
  here = await installation();
  here.configure(
    '.env',
    'DOMAINS=work,private,empty\nDEFAULT_DOMAIN=work\nSESSIONS_PRIVATE_RETENTION_DAYS=0\n',
  );
  [work, own] = [here.project(), here.project()];
  await plant(here, own, [SECRET], IN_PRIVATE);
  await plant(here, own, [FORGOTTEN], OLD_DOMAIN);
  await here.run(['stop', '--all']);
  await plant(here, work, [FRESH, EXPIRED]);
});

afterAll(async () => {
  await here.cleanup();
  expect(await here.leftovers()).toEqual([]);
});

interface Row {
  domain: string;
  configured: boolean;
  volume: string | null;
  retentionDays: number | null;
  history: { count: number; expired: number; open: number; trash: { count: number } };
  sessions: { id?: string; name?: string; cwd?: string; expired: boolean; open: boolean; damaged?: string }[];
}

async function list(...args: string[]): Promise<Record<string, Row>> {
  const { exitCode, stdout, stderr } = await here.run(['sessions', 'list', '--json', ...args]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  const listing: { version: number; domains: Row[] } = JSON.parse(stdout);
  expect(listing.version).toBe(1);
  return Object.fromEntries(listing.domains.map((row) => [row.domain, row]));
}

const volumes = () => here.engine.command(['volume', 'ls', '-q', '--filter', `name=${here.prefix}`]);

describe('S13: sessions list', () => {
  it('S13: a row for each domain that is configured or has a volume, and nothing is made', async () => {
    const before = await volumes();
    const rows = await list();
    expect(Object.keys(rows)).toEqual(['work', 'private', 'empty', 'old']);
    expect(rows.work).toMatchObject({
      configured: true,
      retentionDays: 30,
      history: { count: 2, expired: 1 },
    });
    expect(rows.private).toMatchObject({ retentionDays: 0, history: { count: 1, expired: 0 } });
    expect(rows.empty).toMatchObject({ configured: true, volume: null, history: { count: 0 } });
    expect(rows.old).toMatchObject({
      configured: false,
      retentionDays: null,
      history: { count: 1, expired: 0 },
    });
    const { stdout } = await here.run(['sessions', 'list']);
    expect(stdout).toMatch(/^DOMAIN +SESSIONS +SIZE +OLDEST +RETENTION/);
    expect(stdout).toMatch(/^work +2 +\S+ \S+ +45 days ago +30 days +1/m);
    expect(stdout).toMatch(/^private +1 .*for ever/m);
    expect(stdout).toMatch(/^old \(not configured\) +1/m);
    expect(await volumes()).toBe(before);
  });

  it('S13: by exec or in a helper, one domain’s list holds nothing of another’s', async () => {
    for (const domain of ['work', 'private']) {
      const { stdout } = await here.run(['sessions', 'list', domain, '--sessions', '--trash', '--json']);
      expect(stdout.includes('fresh-1')).toBe(domain === 'work');
      expect(stdout.includes('secret-1')).toBe(domain === 'private');
    }
  });

  it('S13: --sessions has name, directory, last change, and what is open, expired and damaged', async () => {
    await inHistory(here, work, `printf x > ./--p-shop--/torn.jsonl`);
    const pi = here.start(['start', '--demo', work, '--', '--mode', 'rpc', '--session-id', 'running']);
    pi.stdin.write('{"id":"1","type":"prompt","message":"run true"}\n');
    await new Promise<void>((resolve) => {
      let said = '';
      pi.stdout.on('data', (chunk: Buffer) => {
        said += chunk.toString();
        if (said.includes('"agent_settled"')) resolve();
      });
    });
    const { sessions = [] } = (await list('work', '--sessions')).work ?? {};
    expect(sessions.find(({ id }) => id === 'fresh-1')).toMatchObject({
      name: 'fix the tests',
      cwd: '/p/shop',
      expired: false,
      open: false,
    });
    expect(sessions.find(({ id }) => id === 'running')).toMatchObject({ cwd: work, open: true });
    expect(sessions.some(({ id, damaged }) => id === undefined && damaged !== undefined)).toBe(true);
    // In a helper container, which sees the locks of the other container's pi.
    expect((await list('--sessions')).work?.sessions.find(({ id }) => id === 'running')).toMatchObject({
      open: true,
    });
    const removed = await here.run(['sessions', 'rm', 'running']);
    expect(removed).toMatchObject({ exitCode: 1, stdout: '' });
    expect(removed.stderr).toContain('--force');
    pi.stdin.end();
    await inHistory(here, work, `rm ./--p-shop--/torn.jsonl ./*/*_running.jsonl`);
  });

  it('S13: an unknown domain is one clear line', async () => {
    const result = await here.run(['sessions', 'list', 'nowhere']);
    expect(result).toMatchObject({ exitCode: 2, stdout: '' });
    expect(result.stderr).toBe(
      'pi-sandbox: there is no domain "nowhere"; the domains are: work, private, empty, old\n',
    );
  });

  it('S13: without any volume there is nothing to read, so no image is needed', async () => {
    const env = { PI_SANDBOX_INSTALLATION_PREFIX: `${here.prefix}none-` };
    const result = await here.run(['sessions', 'list'], { env });
    expect(result).toMatchObject({ exitCode: 0, stderr: '' });
    expect(result.stdout).toMatch(/^work +0 /m);
  });

  it('S13: with a volume and without the image it says what is missing', async () => {
    const env = { PI_SANDBOX_PI_VERSION: '1.5.9' };
    const result = await here.run(['sessions', 'list'], { env });
    expect(result).toMatchObject({ exitCode: 1, stdout: '' });
    expect(result.stderr).toContain('pi-sandbox image build');
  });
});

describe('S13: show and export', () => {
  it('S13: show says what a Session is and what was said in it', async () => {
    const { stdout } = await here.run(['sessions', 'show', 'fresh']);
    for (const part of ['fresh-1', 'fix the tests', '/p/shop', 'what is red?'])
      expect(stdout).toContain(part);
    const json = JSON.parse((await here.run(['sessions', 'show', 'secret-1', '--json'])).stdout);
    expect(json).toMatchObject({ version: 1, domain: 'private', session: { id: 'secret-1' } });
  });

  it('S13: export writes the very bytes, to a pipe or a new file', async () => {
    const piped = await here.run(['sessions', 'export', 'fresh-1']);
    expect(piped).toMatchObject({ exitCode: 0, stderr: '' });
    expect(piped.stdout).toBe(await inHistory(here, work, `cat ./${fileOf(FRESH)}`));
    const file = join(here.directory, 'secret.jsonl');
    expect(await here.run(['sessions', 'export', 'secret-1', '-o', file])).toMatchObject({
      exitCode: 0,
      stdout: '',
    });
    expect(JSON.parse(readFileSync(file, 'utf8').split('\n')[0] ?? '')).toMatchObject({ id: 'secret-1' });
    const again = await here.run(['sessions', 'export', 'secret-1', '-o', file]);
    expect(again).toMatchObject({ exitCode: 2 });
    expect(readFileSync(file, 'utf8')).toContain('for nobody else');
  });

  it('S13: a whole domain is a tar of the same files', async () => {
    const file = join(here.directory, 'private.tar');
    expect(await here.run(['sessions', 'export', '--domain', 'private', '-o', file])).toMatchObject({
      exitCode: 0,
    });
    const unpacked = join(here.directory, 'unpacked');
    mkdirSync(unpacked);
    execFileSync('tar', ['-xf', file, '-C', unpacked]);
    expect(readFileSync(join(unpacked, fileOf(SECRET)), 'utf8')).toContain('for nobody else');
  });

  it('S13: no Session, or more than one, is one clear line and exit code 2', async () => {
    const none = await here.run(['sessions', 'show', 'nobody']);
    expect(none).toMatchObject({ exitCode: 2, stdout: '' });
    expect(none.stderr).toContain('there is no Session nobody');
    const twin = { ...FRESH, id: 'fresh-2' };
    await plant(here, work, [twin]);
    for (const args of [['show'], ['export'], ['restore'], ['rm', '--yes']]) {
      const many = await here.run(['sessions', ...args, '--domain', 'work', 'fresh']);
      expect(many).toMatchObject({ exitCode: 2, stdout: '' });
      expect(many.stderr).toMatch(/fresh-1.*fresh-2|fresh-2.*fresh-1/);
    }
    await inHistory(here, work, `rm ./${fileOf(twin)}`);
    await plant(here, own, [{ ...SECRET, id: 'fresh-private' }], IN_PRIVATE);
    const domains = await here.run(['sessions', 'show', 'fresh']);
    expect(domains).toMatchObject({ exitCode: 2, stdout: '' });
    expect(domains.stderr).toContain('--domain');
    expect(await here.run(['sessions', 'show', 'fresh', '--domain', 'private'])).toMatchObject({
      exitCode: 0,
    });
  });

  it('S13: to a terminal nothing is exported, and what is shown obeys nobody', async () => {
    const evil = {
      id: 'evil-1',
      days: 1,
      cwd: '/p/\u001b]0;owned\u0007x',
      name: '\u001b[31mred\u202e',
      text: '\u001b[2J\u009b1;1H',
    };
    await inHistory(
      here,
      work,
      `mkdir -p ./evil; printf '%s' '${linesOf(evil).replaceAll("'", '')}' > ./evil/2026_evil-1.jsonl`,
    );
    for (const args of [
      ['list', 'work', '--sessions'],
      ['show', 'evil-1'],
      ['list', 'work', '--sessions', '--json'],
      ['show', 'evil-1', '--json'],
    ]) {
      const { stdout, exitCode } = await here.run(['sessions', ...args]);
      expect(exitCode).toBe(0);
      expect(stdout).toContain('evil-1');
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
      expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    }
    const screen = terminal(process.execPath, [here.cli, 'sessions', 'export', 'evil-1'], {
      env: here.env,
      cwd: here.directory,
    });
    expect(await screen.exited()).toBe(2);
    expect(screen.screen()).toContain('--output');
    await inHistory(here, work, 'rm -r ./evil');
  });
});

describe('S13: prune, rm, restore and log', () => {
  it('S13: --dry-run says what would go, and nothing goes', async () => {
    const before = await inPlaceKept();
    const result = await here.run(['sessions', 'prune', 'work', '--older-than', '1d', '--dry-run']);
    expect(result.exitCode).toBe(0);
    expect(result.stdout).toContain('fresh-1');
    expect(result.stdout).toContain('would remove');
    const args = ['prune', 'work', '--older-than', '1d', '--dry-run', '--json'];
    const { version, dryRun, domains } = JSON.parse((await here.run(['sessions', ...args])).stdout);
    expect({ version, dryRun }).toEqual({ version: 1, dryRun: true });
    const [{ domain, removed, sessions, expiredTrash, problems }, ...others] = domains;
    expect({ domain, others, expiredTrash: expiredTrash.count }).toEqual({
      domain: 'work',
      others: [],
      expiredTrash: 0,
    });
    expect(removed.count).toBe(sessions.length);
    expect(sessions.map(({ id }: { id: string }) => id)).toContain('fresh-1');
    expect(problems).toHaveProperty('omitted');
    expect(await inPlaceKept()).toBe(before);
  });

  it('S13: prune does what the next start would do; --all leaves alone what nothing says an age of', async () => {
    // Planted by a start that keeps everything: the next one must not be what removes it.
    await plant(here, work, [{ ...EXPIRED, id: 'stale-2' }], {
      env: { PI_SANDBOX_SESSIONS_RETENTION_DAYS: '0' },
    });
    const result = await here.run(['sessions', 'prune', '--all']);
    expect(result.exitCode).toBe(0);
    expect(result.stdout).toMatch(/^work: removed \d Sessions? older than 30 days/m);
    expect(result.stdout).toMatch(/^private: keeps everything$/m);
    expect(result.stderr).toContain('the domain old is not configured');
    expect((await list()).old?.history.count).toBe(1);
    const alone = await here.run(['sessions', 'prune', 'old']);
    expect(alone).toMatchObject({ exitCode: 2, stdout: '' });
    expect(alone.stderr).toContain('--older-than');
    expect(await here.run(['sessions', 'prune', 'old', '--older-than', '600d'])).toMatchObject({
      exitCode: 0,
    });
    expect((await list()).old?.history).toMatchObject({ count: 0, trash: { count: 1 } });
  });

  it.each([['-1d'], ['0'], ['1.5d'], ['soon']])('S13: --older-than %s is refused', async (age) => {
    const result = await here.run(['sessions', 'prune', 'work', `--older-than=${age}`]);
    expect(result).toMatchObject({ exitCode: 2, stdout: '' });
  });

  it('S13: rm moves to the trash, restore brings back, log has both', async () => {
    const session = { ...FRESH, id: 'round-trip' };
    await plant(here, work, [session]);
    expect(await here.run(['sessions', 'rm', 'round-trip'])).toMatchObject({ exitCode: 0 });
    expect(await inPlace(here, work)).not.toContain(fileOf(session));
    expect((await inTrash(here, work)).join()).toContain('round-trip');
    expect((await here.run(['sessions', 'list', '--trash'])).stdout).toContain('round-trip');
    const back = await here.run(['sessions', 'restore', 'round-trip']);
    expect(back).toMatchObject({ exitCode: 0 });
    expect(await inHistory(here, work, `cat ./${fileOf(session)}`)).toContain('what is red?');
    expect((await here.run(['sessions', 'restore', 'round-trip'])).exitCode).toBe(2);
    const { stdout } = await here.run(['sessions', 'log', 'work', '--json']);
    const deletions: { id?: string; action: string; why: string }[] = JSON.parse(stdout).deletions;
    const mine = deletions
      .filter(({ id }) => id === 'round-trip')
      .map(({ action, why }) => `${action}: ${why}`);
    expect(mine).toEqual(['trashed: asked', 'restored: asked']);
    expect((await here.run(['sessions', 'log'])).stdout).toMatch(/stale-2 +trashed +retention, 30 days/);
  });

  it('S13: several at once: none when one of them is not there, and one that fails keeps no other', async () => {
    const [one, other] = [
      { ...FRESH, id: 'several-1' },
      { ...FRESH, id: 'several-2' },
    ];
    await plant(here, work, [one, other]);
    const wrong = await here.run(['sessions', 'rm', 'several-1', 'nobody', 'several-2']);
    expect(wrong).toMatchObject({ exitCode: 2, stdout: '' });
    expect(wrong.stderr).toMatch(/there is no Session .*nobody/);
    expect(await inPlace(here, work)).toEqual(expect.arrayContaining([fileOf(one), fileOf(other)]));
    const removed = await here.run(['sessions', 'rm', 'several-1', 'several-2', 'several-1']);
    expect(removed.exitCode).toBe(0);
    expect(removed.stdout.match(/^moved several-\d to the trash/gm)).toHaveLength(2);
    await plant(here, work, [{ ...one, id: 'several-1' }]);
    const trashed = (await inTrash(here, work)).find((path) => path.includes('several-1')) ?? '';
    const back = await here.run(['sessions', 'restore', trashed, 'several-2']);
    expect(back).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('restored several-2') });
    expect(back.stderr).toContain('several-1: ');
  });

  it('S13: for good is asked about; without a terminal --yes is needed', async () => {
    const session = { ...FRESH, id: 'for-good' };
    await plant(here, work, [session]);
    expect(await here.run(['sessions', 'rm', '--now', 'for-good'])).toMatchObject({
      exitCode: 2,
      stdout: '',
    });
    expect(await inPlace(here, work)).toContain(fileOf(session));
    expect(await here.run(['sessions', 'rm', '--now', '--yes', 'for-good'])).toMatchObject({ exitCode: 0 });
    expect((await inTrash(here, work)).join()).not.toContain('for-good');
  });
});

describe('S13: clear', () => {
  it('S13: it refuses while a sandbox of the domain runs, and without a terminal needs --yes', async () => {
    const running = await here.run(['sessions', 'clear', 'work', '--yes']);
    expect(running).toMatchObject({ exitCode: 2, stdout: '' });
    expect(running.stderr).toContain(work);
    const silent = await here.run(['sessions', 'clear', 'old']);
    expect(silent).toMatchObject({ exitCode: 2, stdout: '' });
    expect(silent.stderr).toContain('--yes');
    expect((await list()).old?.history.trash.count).toBe(1);
  });

  it('S13: on a terminal it asks, and Enter means no', async () => {
    const screen = terminal(process.execPath, [here.cli, 'sessions', 'clear', 'old'], {
      env: here.env,
      cwd: here.directory,
    });
    await screen.shows('[y/N]');
    screen.type('\r');
    expect(await screen.exited()).toBe(1);
    expect((await list()).old?.history.trash.count).toBe(1);
  });

  it('S13: it deletes everything at once, the trash too, and says so; other domains keep theirs', async () => {
    const before = await list();
    const result = await here.run(['sessions', 'clear', 'old', '--yes']);
    expect(result).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('1 in the trash') });
    const rows = await list();
    expect(rows.old?.history).toMatchObject({ count: 0, trash: { count: 0 } });
    expect(rows.private?.history).toEqual(before.private?.history);
    const forced = await here.run(['sessions', 'clear', 'work', '--yes', '--force']);
    expect(forced).toMatchObject({ exitCode: 0 });
    expect((await list()).work?.history).toMatchObject({ count: 0, trash: { count: 0 } });
    expect(await sandboxes(here, work)).toHaveLength(1);
    expect(existsSync(work)).toBe(true);
  });
});

describe('rule 8: what a sandbox planted in its history', () => {
  it('S13: links lead nowhere, and only its own domain is affected', async () => {
    await plant(here, work, [FRESH]);
    await inHistory(
      here,
      work,
      'ln -s /home/pi/.pi/domain ./linked; ln -s /etc ./--p-shop--/etc; ln -s /etc/passwd ./passwd.jsonl; mkfifo ./--p-shop--/fifo.jsonl; mkdir ./dir.jsonl',
    );
    const result = await here.run(['sessions', 'list', '--sessions', '--json']);
    expect(result.exitCode).toBe(0);
    expect(result.stdout).not.toContain('root:x');
    const pruned = await here.run(['sessions', 'prune', 'work', '--older-than', '1d']);
    expect(pruned).toMatchObject({ exitCode: 0 });
    expect(await here.run(['sessions', 'clear', 'work', '--yes', '--force'])).toMatchObject({ exitCode: 0 });
    const left = await inHistory(here, work, 'ls -d /etc/passwd /home/pi/.pi/domain/home linked');
    expect(left).toContain('/etc/passwd');
    expect(left).toContain('/home/pi/.pi/domain/home');
    await inHistory(here, work, 'rm -rf ./linked ./passwd.jsonl ./dir.jsonl ./--p-shop--');
  });

  it('S13: a name without an end costs that Session its name only', async () => {
    await plant(here, work, [
      { ...FRESH, id: 'endless', name: 'x'.repeat(100_000) },
      { ...FRESH, id: 'short' },
    ]);
    const { sessions = [] } = (await list('work', '--sessions')).work ?? {};
    expect(sessions.map(({ id }) => id).sort()).toEqual(['endless', 'short']);
    for (const { name } of sessions) expect(name?.length ?? 0).toBeLessThan(5_000);
  });
});

describe('S13, S19: other owners and other engines', () => {
  const roundTrip = async (there: Installation, project: string, options: RunOptions) => {
    const [session, stale] = [
      { ...FRESH, id: 'theirs-1' },
      { ...EXPIRED, id: 'theirs-2' },
    ];
    await plant(there, project, [session, stale], options);
    await there.run(['stop', project]);
    const run = async (...args: string[]) => {
      const result = await there.run(['sessions', ...args], options);
      expect(result, args.join(' ')).toMatchObject({ exitCode: 0 });
      return result.stdout;
    };
    expect(await run('list', '--sessions')).toMatch(/theirs-2 .*expired/);
    expect(await run('prune', '--all')).toContain('removed 1 Session');
    expect(await run('restore', 'theirs-2')).toContain('restored theirs-2');
    expect(await run('export', 'theirs-1')).toContain('what is red?');
    // What the helper wrote is its owner's: a start can go on with it.
    const after = await inHistory(there, project, 'find . ! -user "$(id -u)"; id -u', options);
    return after;
  };

  it('S13, S2: as whoever owns the history, whatever uid that is', async () => {
    const options = {
      env: {
        PI_SANDBOX_DEFAULT_DOMAIN: 'empty',
        PI_SANDBOX_SANDBOX_UID: '60001',
        PI_SANDBOX_SANDBOX_GID: '100',
      },
    };
    const there = await installation();
    try {
      there.configure('.env', 'DOMAINS=empty\n');
      expect(await roundTrip(there, there.project({ uid: 60_001, gid: 100 }), options)).toBe('60001\n');
    } finally {
      await there.cleanup();
    }
  });

  it('S13, S19: on Podman', async ({ skip }) => {
    if (!PODMAN_INSTALLED) skip('no Podman here');
    const there = await installation(await readyEngine('podman', inject('e2e')));
    try {
      expect(await roundTrip(there, there.project(), {})).toBe(`${there.owner.uid}\n`);
      expect((await there.leftovers()).filter((line) => line.startsWith('container '))).toHaveLength(1);
    } finally {
      await there.cleanup();
    }
  });
});

/** The listing that no start stands behind: a start prunes. */
async function inPlaceKept(): Promise<string> {
  return JSON.stringify((await list('work', '--sessions')).work?.sessions);
}
