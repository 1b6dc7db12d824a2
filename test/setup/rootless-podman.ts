/**
 * A rootless Podman for tests that run as root: the engine of a user who exists, with subordinate ids of his own, only in
 * name spaces that end with it. Nothing of the machine is changed.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { engineOf, PODMAN_INSTALLED, type TestEngine } from './engines.ts';
import type { Owner } from './installation.ts';
import { until } from './pi.ts';

const LOAD_MS = 240_000;
const START_MS = 30_000;
const NEEDED = ['unshare', 'setpriv', 'newuidmap', 'slirp4netns'];
const USER: Owner = { uid: 48_213, gid: 48_213 };

export const ROOTLESS_POSSIBLE =
  PODMAN_INSTALLED &&
  process.getuid?.() === 0 &&
  NEEDED.every((program) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0);

/**
 * Podman wants its runtime directory below /run, and slirp4netns a tun device that its user may open. The shell stays: it
 * ends with its parent, which a process forgets that becomes another user, and everything here ends with it. By itself Podman
 * may choose to copy the whole image for each container.
 */
const SCRIPT = `
set -e
for file in passwd group subuid subgid; do mount --bind "$1/$file" "/etc/$file"; done
mount -t tmpfs tmpfs /run
mkdir -p /run/user/$2
chown $2:$2 /run/user/$2
mknod "$1/tun" c 10 200
chmod 0666 "$1/tun"
if [ -e /dev/net/tun ]; then mount --bind "$1/tun" /dev/net/tun; fi
home=$1/home
user=$2
podman() {
  setpriv --reuid $user --regid $user --clear-groups env -i PATH="$PATH" HOME="$home" XDG_RUNTIME_DIR=/run/user/$user podman "$@"
}
driver=overlay
podman --root "$home/try" --storage-driver overlay info >/dev/null 2>&1 || driver=vfs
podman --storage-driver $driver system service --time=0 "unix://$home/podman.sock"
exit $?
`;

/** @param directory empty, and reached by every user; what the engine keeps is below it */
export async function rootlessPodman(
  directory: string,
  image: string,
): Promise<{ engine: TestEngine; owner: Owner }> {
  const { uid, gid } = USER;
  const home = join(directory, 'home');
  chmodSync(directory, 0o711);
  mkdirSync(home);
  chownSync(home, uid, gid);
  for (const name of ['passwd', 'group']) {
    const own = name === 'passwd' ? `rootless:x:${uid}:${gid}::${home}:/bin/sh` : `rootless:x:${gid}:`;
    writeFileSync(join(directory, name), `${readFileSync(`/etc/${name}`, 'utf8')}${own}\n`);
  }
  for (const name of ['subuid', 'subgid']) writeFileSync(join(directory, name), 'rootless:500000:65536\n');
  const spaces = ['--mount', '--pid', '--fork', '--kill-child=SIGKILL', '--mount-proc'];
  const service = spawn('unshare', [...spaces, 'sh', '-c', SCRIPT, 'sh', directory, String(uid)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  service.stderr.on('data', (piece) => {
    said += String(piece);
  });
  const socket = join(home, 'podman.sock');
  await until('podman system service', () => service.exitCode !== null || existsSync(socket), START_MS);
  if (service.exitCode !== null) throw new Error(`no rootless Podman: ${said}`);
  const connection = ['--remote', '--url', `unix://${socket}`];
  const options = { timeout: LOAD_MS };
  await execa('docker', ['save', image], { ...options, buffer: false, encoding: 'buffer' }).pipe(
    'podman',
    [...connection, 'load'],
    options,
  );
  const engine = {
    ...engineOf('podman', connection),
    env: { DOCKER_HOST: `unix://${socket}`, PI_SANDBOX_NETWORK_POOL: '10.216.0.0/16' },
    close: () => ended(service),
  };
  return { engine, owner: USER };
}

async function ended(service: ChildProcess): Promise<void> {
  const closed = new Promise((settle) => service.once('exit', settle));
  // It passes on no signal, and what is in its name spaces goes with it.
  if (service.exitCode !== null || !service.kill('SIGKILL')) return;
  await closed;
}
