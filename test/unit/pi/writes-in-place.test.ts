import { spawnSync } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePiWorld, type PiWorld, piCli, runPi } from '../../setup/pi.ts';
import { startRpcPi } from '../../setup/pi-rpc.ts';
import { startTerminalPi } from '../../setup/pi-terminal.ts';

let directory: string;
let world: PiWorld;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'in-place-'));
  world = await makePiWorld(directory);
  mkdirSync(join(directory, 'behind'));
}, 300_000);

afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Makes `agent/<name>` a link, as in a sandbox; without `content` to a file that is not there yet. */
function linked(name: string, content?: string): { link: string; behind: string } {
  const link = join(directory, 'agent', name);
  const behind = join(directory, 'behind', name);
  rmSync(link, { force: true });
  rmSync(behind, { force: true });
  if (content !== undefined) writeFileSync(behind, content);
  symlinkSync(behind, link);
  return { link, behind };
}

function expectLink(link: string, behind: string): void {
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(readlinkSync(link)).toBe(behind);
}

function pi(...args: string[]) {
  return spawnSync(process.execPath, [piCli(), ...args], {
    cwd: world.project,
    env: world.environment,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 15_000,
  });
}

describe('what pi writes through a link', () => {
  it.each(['auth.json', 'models-store.json'])(
    'S4: a first start makes %s behind a link that leads to nothing',
    async (name) => {
      const { link, behind } = linked(name);
      expect((await runPi(world, ['--no-session', '-p', 'run true'])).code).toBe(0);
      expectLink(link, behind);
      if (name === 'auth.json') expect(statSync(behind).mode & 0o777).toBe(0o600);
    },
  );

  it('S4: settings are written in place', async () => {
    const { link, behind } = linked('settings.json', '{"quietStartup":true}');
    const { ino } = statSync(behind);
    const rpc = startRpcPi(world, ['--no-session']);
    await rpc.request({ type: 'set_auto_compaction', enabled: false });
    await rpc.end();
    expectLink(link, behind);
    expect(statSync(behind).ino).toBe(ino);
    expect(JSON.parse(readFileSync(behind, 'utf8'))).toMatchObject({ compaction: { enabled: false } });
  });

  it.each([undefined, '{"mcpServers":{}}'])(
    'S4: mcp.json is written in place, or made (was %s)',
    (content) => {
      const { link, behind } = linked('mcp.json', content);
      const ino = content === undefined ? undefined : statSync(behind).ino;
      const added = pi('mcp', 'add', 'echo', '--', 'true');
      expect(readFileSync(behind, 'utf8'), added.stderr).toContain('"echo"');
      expectLink(link, behind);
      if (ino !== undefined) expect(statSync(behind).ino).toBe(ino);
    },
  );

  it.each([undefined, '{}\n'])(
    'S4: a trust decision is written in place, or made (was %s)',
    async (content) => {
      const { link, behind } = linked('trust.json', content);
      const ino = content === undefined ? undefined : statSync(behind).ino;
      mkdirSync(join(world.project, '.pi'), { recursive: true });
      writeFileSync(join(world.project, '.pi/settings.json'), '{"theme":"dark"}');
      const terminal = startTerminalPi(world, ['--no-session']);
      await terminal.see('Trust');
      terminal.type('\r');
      await terminal.see('demo-1');
      await terminal.kill();
      expect(readFileSync(behind, 'utf8')).toContain(world.project);
      expectLink(link, behind);
      if (ino !== undefined) expect(statSync(behind).ino).toBe(ino);
      rmSync(join(world.project, '.pi'), { recursive: true });
    },
  );
});
