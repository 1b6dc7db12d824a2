/** Volumes of the installation: whose they are, whether a domain still needs them, how much they hold (S1, S2). */

import { bytes } from '../../lib/table.ts';
import { planImage } from '../sandbox/image.ts';
import { type VolumeRole, volumeOfName } from '../sandbox/names.ts';
import { runHelper } from '../sandbox/volumes.ts';
import { ok, type Row, warning } from './row.ts';
import { engineCommand, type Scene } from './scene.ts';

/** More volumes than this are not looked into in one call (rule 7). */
const MAX_VOLUMES = 200;

interface OwnVolume {
  name: string;
  role: VolumeRole;
  domain: string | undefined;
}

/** One line each: number, owner of the root, and whether anything is in there. Nothing below the root is opened. */
const LOOK = `
for root in /volumes/*; do
  something=$(find "$root" -xdev -mindepth 1 -print -quit)
  printf '%s %s %s\\n' "\${root##*/}" "$(stat -c %u "$root")" "\${something:+filled}"
done
`;

export async function checkVolumes(scene: Scene): Promise<Row[]> {
  const { config, engine } = scene;
  const prefix = config.INSTALLATION_PREFIX;
  const volumes: OwnVolume[] = (await engine.volumes.list({ namePrefix: prefix })).flatMap(({ name }) => {
    const found = volumeOfName(prefix, name);
    return found === undefined ? [] : [{ name, ...found }];
  });
  if (volumes.length === 0) return [ok('volumes', 'none yet: the first start makes them')];
  const rows = [...unknownDomains(scene, volumes), ...(await insides(scene, volumes))];
  return rows.length > 0 ? rows : [ok('volumes', `${volumes.length}, all of configured domains`)];
}

function unknownDomains(scene: Scene, volumes: readonly OwnVolume[]): Row[] {
  const { domains } = scene.config;
  return volumes
    .filter(({ domain }) => domain !== undefined && !domains.some(({ id }) => id === domain))
    .map(({ name, domain }) =>
      warning(
        'volumes',
        `${name} is of the domain ${domain}, which is not configured`,
        `add it to DOMAINS=, or remove the volume for good: ${engineCommand(scene)} volume rm ${name}`,
      ),
    );
}

/** Seen by a helper that may read them and nothing else; without the image there is none. */
async function insides({ config, engine }: Scene, volumes: readonly OwnVolume[]): Promise<Row[]> {
  const image = planImage(config.INSTALLATION_PREFIX, config).name;
  if ((await engine.images.inspect(image)) === undefined) return [];
  const looked = volumes.slice(0, MAX_VOLUMES);
  const output = await runHelper(engine, {
    sandbox: { config },
    image,
    user: '0:0',
    capabilities: ['DAC_READ_SEARCH'],
    command: ['/bin/sh', '-c', LOOK],
    mounts: looked.map(({ name }, at) => ({
      type: 'volume',
      source: name,
      target: `/volumes/${at}`,
      readOnly: true,
    })),
  });
  return judgeInsides(looked, output);
}

/** Rows for the helper's output: volumes that nobody has prepared, and ones that belong to different users. */
export function judgeInsides(volumes: readonly { name: string }[], output: string): Row[] {
  const seen = output.split('\n').flatMap((line) => {
    const match = /^(\d{1,6}) (\d{1,10}) (filled)?$/.exec(line);
    const name = volumes[Number(match?.[1])]?.name;
    return match === null || name === undefined
      ? []
      : [{ name, uid: match[2], filled: match[3] !== undefined }];
  });
  const empty = seen
    .filter(({ filled }) => !filled)
    .map(({ name }) =>
      warning('volumes', `${name} was made and never prepared`, 'the next start of its domain does it'),
    );
  const owners = new Set(seen.filter(({ filled }) => filled).map(({ uid }) => uid));
  if (owners.size < 2) return empty;
  const whose = seen.filter(({ filled }) => filled).map(({ name, uid }) => `${name}: ${uid}`);
  const detail = `they belong to different users: ${whose.join(', ')}`;
  return [...empty, warning('volumes', detail, 'pi-sandbox volumes chown')];
}

/** How much they hold. The engine walks all volumes for this, others' too, so it is asked on its own. */
export async function checkVolumeSizes({ config, engine }: Scene): Promise<Row[]> {
  const prefix = config.INSTALLATION_PREFIX;
  const own = [...(await engine.system.volumeSizes())].filter(
    ([name]) => volumeOfName(prefix, name) !== undefined,
  );
  const total = own.reduce((sum, [, size]) => sum + Math.max(0, size), 0);
  return [ok('volume use', `${bytes(total)} in ${own.length} volume(s)`)];
}
