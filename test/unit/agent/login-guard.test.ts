import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { piCli } from '../../setup/pi.ts';

let guard: string;

beforeAll(async () => {
  const directory = mkdtempSync(join(tmpdir(), 'pi-sandbox-guard-'));
  guard = join(directory, 'login-guard.cjs');
  await build({
    entryPoints: ['src/agent/login-guard.ts'],
    outfile: guard,
    bundle: true,
    platform: 'node',
    format: 'cjs',
  });
  return () => rmSync(directory, { recursive: true, force: true });
});

/** An agent directory whose login, or whose models, take their key from a command that leaves a file. */
function askWith(place: 'auth.json' | 'models.json', guarded: boolean) {
  const agent = mkdtempSync(join(tmpdir(), 'pi-sandbox-login-'));
  onTestFinished(() => rmSync(agent, { recursive: true, force: true }));
  mkdirSync(join(agent, 'home'));
  const ran = join(agent, 'ran');
  const key = `!touch ${ran}; echo key`;
  const provider = {
    name: 'Nowhere',
    // Nothing listens there: what counts is whether the key was asked for.
    baseUrl: 'http://127.0.0.1:9/v1',
    api: 'openai-completions',
    apiKey: place === 'models.json' ? key : 'unused',
    models: [{ id: 'm', name: 'M' }],
  };
  writeFileSync(join(agent, 'models.json'), JSON.stringify({ providers: { nowhere: provider } }));
  writeFileSync(join(agent, 'settings.json'), JSON.stringify({ retry: { enabled: false } }));
  if (place === 'auth.json') {
    writeFileSync(join(agent, 'auth.json'), JSON.stringify({ nowhere: { type: 'api_key', key } }));
  }
  const words = [
    ...(guarded ? ['--require', guard] : []),
    piCli(),
    '-p',
    '--no-session',
    '--model',
    'nowhere/m',
    'hi',
  ];
  const run = spawnSync(process.execPath, words, {
    cwd: agent,
    env: { PATH: process.env.PATH, HOME: join(agent, 'home'), PI_CODING_AGENT_DIR: agent, PI_OFFLINE: '1' },
    encoding: 'utf8',
    input: '',
    timeout: 30_000,
  });
  return { ran: existsSync(ran), stderr: run.stderr };
}

describe('the login guard', () => {
  it('S5: a command that another domain could have put into auth.json is not run, and it is said', () => {
    const { ran, stderr } = askWith('auth.json', true);
    expect(ran).toBe(false);
    expect(stderr).toContain('a login in auth.json is a command');
  });

  it('S5: without the guard this pi would run it, so the way pi calls for a key is still the one we know', () => {
    expect(askWith('auth.json', false).ran).toBe(true);
  });

  it('S8: a command in the user’s own models.json is run', () => {
    expect(askWith('models.json', true).ran).toBe(true);
  });
});
