import { chmodSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';

const made: Installation[] = [];

afterAll(async () => {
  for (const each of made) {
    await each.cleanup();
    expect(await each.leftovers()).toEqual([]);
  }
});

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

describe('S2: any user is pi inside', () => {
  it.runIf(AS_ROOT).each([
    { uid: 1000, gid: 1000 },
    { uid: 1001, gid: 1001 },
    { uid: 60001, gid: 60001 },
    { uid: 1000, gid: 100 },
    { uid: 0, gid: 0 },
  ])('S2: uid $uid, gid $gid', async ({ uid, gid }) => {
    const here = await installation();
    made.push(here);
    const project = here.project({ uid, gid });
    const result = await here.run(['shell', project, '--', 'sh', '-c', SCRIPT]);
    const home = '/home/pi/.pi/domain/home';
    expect(result).toMatchObject({
      exitCode: 0,
      stdout: `pi\n${uid}\n${gid}\npi ${home} ${uid} ${gid}\nfirst\nOpenSSH\n${home}\n`,
      stderr: '',
    });
    const answer = await here.run(['start', '--demo', project, '--', '-p', 'run id -un']);
    expect(answer).toMatchObject({ exitCode: 0, stderr: '' });
    expect(answer.stdout).toContain('pi');
  });
});

describe('S2: who the user is', () => {
  it.runIf(AS_ROOT)('S2: under sudo, who called it', async () => {
    const here = await installation();
    made.push(here);
    const project = here.project({ uid: 0, gid: 0 });
    chmodSync(project, 0o777);
    const result = await here.run(['shell', project, '--', 'id', '-u'], {
      env: { SUDO_UID: '1234', SUDO_GID: '1234' },
    });
    expect(result).toMatchObject({ exitCode: 0, stdout: '1234\n' });
  });

  it('S2: SANDBOX_UID and SANDBOX_GID override', async () => {
    const here = await installation();
    made.push(here);
    here.configure('.env', 'SANDBOX_UID=3333\nSANDBOX_GID=4444\n');
    const result = await here.run(['shell', here.project(), '--', 'sh', '-c', 'id -u; id -g']);
    expect(result).toMatchObject({ exitCode: 0, stdout: '3333\n4444\n' });
  });
});
