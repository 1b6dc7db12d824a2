import { chmodSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ENGINES, readyEngine, type TestEngine } from '../setup/engines.ts';
import { type Installation, installation } from '../setup/installation.ts';

/** Only root can give a project to another user. */
const AS_ROOT = process.getuid?.() === 0;

/** What a user without a passwd entry on the host still has to be able to do (S2). */
const SCRIPT = `
set -e
whoami; id -u; id -g
node -e 'const { username, homedir, uid, gid } = os.userInfo(); console.log(username, homedir, uid, gid)'
touch file; git init -q .
git -c user.name=Pi -c user.email=pi@example.com commit -q --allow-empty -m first
git log --format=%s
ssh -V 2>&1 | cut -c1-7
touch ~/in-home ~/.cache/in-cache "$XDG_RUNTIME_DIR/in-runtime" /tmp/in-tmp ~/.pi/agent/sessions/in-sessions
echo "$HOME"
`;

describe.each(ENGINES)('S2: users, on %s', (kind) => {
  let engine: TestEngine;
  const made: Installation[] = [];

  beforeAll(async () => {
    engine = await readyEngine(kind, inject('e2e'));
  });

  afterAll(async () => {
    for (const each of made) {
      await each.cleanup();
      expect(await each.leftovers()).toEqual([]);
    }
    await engine.close();
  });

  /** One for each user, since volumes belong to one; the engine is everybody's. */
  async function fresh(): Promise<Installation> {
    const here = await installation({ ...engine, close: () => Promise.resolve() });
    made.push(here);
    return here;
  }

  it.runIf(AS_ROOT).each([
    { uid: 1000, gid: 1000 },
    { uid: 60001, gid: 60001 },
    { uid: 1000, gid: 100 },
    { uid: 0, gid: 0 },
  ])('S2: uid $uid, gid $gid is pi inside', async ({ uid, gid }) => {
    const here = await fresh();
    const project = here.project({ uid, gid });
    const result = await here.run(['shell', project, '--', 'sh', '-c', SCRIPT]);
    const home = '/home/pi/.pi/domain/home';
    expect(result).toMatchObject({
      exitCode: 0,
      stdout: `pi\n${uid}\n${gid}\npi ${home} ${uid} ${gid}\nfirst\nOpenSSH\n${home}\n`,
      stderr: '',
    });
    expect(statSync(join(project, 'file'))).toMatchObject({ uid, gid });
    const answer = await here.run(['start', '--demo', project, '--', '-p', 'run id -un']);
    expect(answer).toMatchObject({ exitCode: 0, stderr: '' });
    expect(answer.stdout).toContain('pi');
  });

  it.runIf(AS_ROOT)('S2: under sudo it is who called it', async () => {
    const here = await fresh();
    const project = here.project({ uid: 0, gid: 0 });
    chmodSync(project, 0o777);
    const result = await here.run(['shell', project, '--', 'id', '-u'], {
      env: { SUDO_UID: '1234', SUDO_GID: '1234' },
    });
    expect(result).toMatchObject({ exitCode: 0, stdout: '1234\n' });
  });

  it('S2: SANDBOX_UID and SANDBOX_GID override', async () => {
    const here = await fresh();
    here.configure('.env', 'SANDBOX_UID=3333\nSANDBOX_GID=4444\n');
    const result = await here.run(['shell', here.project(), '--', 'sh', '-c', 'id -u; id -g']);
    expect(result).toMatchObject({ exitCode: 0, stdout: '3333\n4444\n' });
  });

  it.runIf(AS_ROOT)(
    'S2: a volume that another uid has left is named with its repair, which follows no link',
    async () => {
      const here = await fresh();
      const [first, second] = [here.project(), here.project({ uid: 2002, gid: 2002 })];
      const plant = 'ln -s /etc/passwd ~/link; ln -s / ~/root; echo mine > ~/mine';
      expect((await here.run(['shell', first, '--', 'sh', '-c', plant])).exitCode).toBe(0);
      await here.run(['stop', '--all']);
      const refused = await here.run(['shell', second, '--', 'true']);
      expect(refused.exitCode).toBe(1);
      expect(refused.stderr).toContain('pi-sandbox volumes chown 2002:2002');
      expect((await here.run(['volumes', 'chown', '2002:2002', '--yes'])).exitCode).toBe(0);
      const look = 'stat -c %u ~/mine ~/link; stat -Lc %u ~/link ~/root; cat ~/mine';
      expect((await here.run(['shell', second, '--', 'sh', '-c', look])).stdout).toBe(
        '2002\n2002\n0\n0\nmine\n',
      );
    },
  );
});
