/** Storage of extensions in a real pi, with our extension loaded as the image has it (W3). */
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePiWorld, type PiWorld, until } from '../../setup/pi.ts';
import { startRpcPi } from '../../setup/pi-rpc.ts';
import { builtLibrary } from '../../setup/work-library.ts';
import { temporaryDirectory } from '../lib/temporary.ts';

let library = '';
beforeAll(async () => {
  library = await builtLibrary('pi');
});
afterAll(() => rmSync(library, { recursive: true, force: true }));

/** Extensions as a user has them; each notes what it got, one line each. */
const EXTENSIONS: Record<string, string> = {
  'named.ts': `
import { getStorage, type WorkRun } from 'pi-sandbox/work';
import { note } from './note.mjs';
export default function (pi: any) {
  const storage = getStorage('named', pi);
  pi.on('session_start', async () => {
    const run: WorkRun = await getStorage('named', pi).acquireWorkRun();
    note('named ' + run.path);
  });
}`,
  'unnamed.js': `
import { getStorage } from 'pi-sandbox/work';
import { note } from './note.mjs';
export default function (pi) {
  const storage = getStorage('unnamed');
  pi.on('session_start', async () => note('unnamed ' + (await storage.acquireWorkRun()).path));
}`,
  'thief.ts': `
import { getStorage, NamespaceTakenError } from 'pi-sandbox/work';
import { note } from './note.mjs';
export default function (pi: any) {
  pi.on('session_start', () => {
    for (const namespace of ['named', 'unnamed']) {
      try {
        getStorage(namespace, pi);
        note('stolen ' + namespace);
      } catch (error) {
        note((error instanceof NamespaceTakenError ? 'refused ' : String(error)) + namespace);
      }
    }
  });
}`,
  'note.mjs': `
import { appendFileSync } from 'node:fs';
export const note = (line) => appendFileSync(process.env.NOTES, line + '\\n');`,
};

async function scene() {
  const world: PiWorld = await makePiWorld(temporaryDirectory());
  const extensions = join(world.directory, 'agent/extensions');
  mkdirSync(extensions);
  for (const [name, text] of Object.entries(EXTENSIONS)) writeFileSync(join(extensions, name), text);
  // As the image: the package stands above whatever an extension lies in.
  mkdirSync(join(world.directory, 'node_modules'));
  symlinkSync(library, join(world.directory, 'node_modules/pi-sandbox'));
  const notes = join(world.directory, 'notes');
  writeFileSync(notes, '');
  world.environment.NOTES = notes;
  const noted = (): string[] =>
    readFileSync(notes, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
  const runs = (name: string): string[] =>
    noted().flatMap((line) => (line.startsWith(`${name} `) ? [line.slice(name.length + 1)] : []));
  const held = (path = ''): number =>
    readdirSync(join(path, '.leases')).filter((name) => name.endsWith('.lease')).length;
  return { world, noted, runs, held };
}

describe('storage in pi', () => {
  it('W3: is held while the Session lasts, and released when pi unloads the extensions and when it ends', async () => {
    const { world, noted, runs, held } = await scene();
    const pi = startRpcPi(world, []);
    await pi.request({ type: 'get_state' });
    await until('the runs', () => noted().length >= 4);
    const first = ['named', 'unnamed'].map((name) => runs(name)[0] ?? '');
    expect(first[0]).toMatch(/agent\/work\/extensions\/named\//);
    expect(first.map(held)).toEqual([1, 1]);
    expect(noted()).toEqual(expect.arrayContaining(['refused named', 'refused unnamed']));

    // pi loads every extension anew: each gets its namespace again, the one that did not say whose it is too.
    expect(await pi.request({ type: 'new_session' })).toMatchObject({ success: true });
    await until('the second runs', () => noted().length >= 8);
    const second = ['named', 'unnamed'].map((name) => runs(name)[1] ?? '');
    expect(first.map(held)).toEqual([0, 0]);
    expect(second.map(held)).toEqual([1, 1]);

    await pi.end();
    expect(second.map(held)).toEqual([0, 0]);
    expect(pi.errors()).not.toContain('rror');
  }, 60_000);

  it('W5: ends with a pi that is killed', async () => {
    const { world, noted, runs } = await scene();
    const pi = startRpcPi(world, []);
    await until('the runs', () => noted().length >= 4, 30_000);
    await pi.kill('SIGKILL');
    const next = startRpcPi(world, []);
    await until('the next ones', () => noted().length >= 8, 30_000);
    expect(runs('named')).toHaveLength(2);
    await next.end();
  }, 90_000);
});
