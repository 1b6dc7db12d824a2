/** Makes a sandbox's container again by hand, through the engine's own command, with something changed. */
import type { Installation } from '../setup/installation.ts';
import { eventually, type Inspected, inspect, sandboxOf } from '../setup/look.ts';

export interface Row {
  check: string;
  result: string;
  detail: string;
  advice?: string;
}

/** Starts the project's sandbox, and replaces it by one that is the same but for these options of `docker run`. */
export async function tamper(here: Installation, project: string, options: readonly string[]): Promise<void> {
  await here.run(['shell', project, '--', 'true']);
  const name = await sandboxOf(here, project);
  const container = await inspect(here, name);
  await here.engine.command(['rm', '--force', name]);
  await here.engine.command([
    'run',
    '--detach',
    '--interactive',
    ...sameAs(name, container),
    ...options,
    here.image,
  ]);
  await eventually('the supervisor to listen', async () => {
    const looked = await here.engine.command(
      ['exec', name, 'sh', '-c', 'test -S "$XDG_RUNTIME_DIR/pi-sandbox/supervisor.sock" && echo yes'],
      { tolerant: true },
    );
    return looked === 'yes';
  });
}

function sameAs(name: string, { Config, HostConfig, Mounts }: Inspected): string[] {
  const each = (flag: string, values: string[]): string[] => values.flatMap((value) => [flag, value]);
  const labels = Object.entries(Config.Labels).filter(([key]) => key.startsWith('pi-sandbox.'));
  const mounts = Mounts.filter(({ Type }) => Type !== 'tmpfs').map((mount) => {
    const noCopy = mount.Type === 'volume' ? ',volume-nocopy' : '';
    return `type=${mount.Type},source=${mount.Name ?? mount.Source},target=${mount.Destination}${noCopy}`;
  });
  return [
    ...['--name', name, '--user', Config.User, '--hostname', Config.Hostname, '--workdir', Config.WorkingDir],
    ...[
      '--network',
      HostConfig.NetworkMode ?? 'none',
      '--read-only',
      '--cap-drop',
      'ALL',
      '--log-driver',
      'none',
    ],
    ...['--memory', String(HostConfig.Memory), '--memory-swap', String(HostConfig.Memory)],
    ...['--pids-limit', String(HostConfig.PidsLimit), '--security-opt', 'no-new-privileges'],
    ...each(
      '--label',
      labels.map(([key, value]) => `${key}=${value}`),
    ),
    ...each('--env', Config.Env),
    ...each('--mount', mounts),
    ...each(
      '--tmpfs',
      Object.entries(HostConfig.Tmpfs ?? {}).map(([target, flags]) => `${target}:${flags}`),
    ),
  ];
}
