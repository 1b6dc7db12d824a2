import type { Engine } from '../../engine/index.ts';
import type { Config, DomainId } from '../config/index.ts';
import { warn } from '../ui/report.ts';
import type { ListedSandbox } from './find-sandboxes.ts';
import { volumeOfName } from './names.ts';
import { endingReason, parseLogLine } from './sandbox-log-lines.ts';
import { runHelper } from './volumes.ts';

export interface EndedSandbox {
  name: string;
  domain: string;
  /** ISO 8601, UTC. */
  time: string;
  reason: string;
}

/** A domain's volume with the logs of its sandboxes. */
export interface DomainState {
  domain: DomainId;
  volume: string;
}

/** More volumes than this are not looked at in one call (rule 7). */
const MAX_VOLUMES = 200;
/**
 * From each log its last line is enough: it has the reason, or the supervisor was killed before it could write one.
 * A sandbox can leave files of any number and length there: of each domain the newest are looked at (rule 7).
 */
const READ_LOGS = `
for domain in /volumes/*; do
  find "$domain/logs/sandboxes" -maxdepth 1 -name '*.jsonl' -type f -printf '%T@\\t%p\\0' 2>/dev/null |
    sort -zrn | head -zn 300 | cut -zf 2-
done | xargs -0r sh -c 'for log do
  printf "%s\\t" "$log"; tail -c 4096 "$log" | tail -n 1; echo
done' logs
`;

export async function domainStates(engine: Engine, config: Config): Promise<DomainState[]> {
  const prefix = config.INSTALLATION_PREFIX;
  return (await engine.volumes.list({ namePrefix: prefix }))
    .flatMap(({ name }) => {
      const found = volumeOfName(prefix, name);
      return found?.role === 'domain-state' && found.domain !== undefined
        ? [{ domain: found.domain, volume: name }]
        : [];
    })
    .slice(0, MAX_VOLUMES);
}

/**
 * Sandboxes that have ended, with the reason each supervisor wrote last into its domain's volume (S14). One helper
 * container sees all the domains' volumes, read-only, and nothing else.
 */
export async function endedSandboxes(
  engine: Engine,
  config: Config,
  image: string,
  running: readonly ListedSandbox[],
): Promise<EndedSandbox[]> {
  const states = await domainStates(engine, config);
  if (states.length === 0) return [];
  if ((await engine.images.inspect(image)) === undefined) {
    warn(
      `sandboxes that have ended cannot be listed: the image ${image}, which reads their logs, is missing`,
    );
    return [];
  }
  const output = await runHelper(engine, {
    sandbox: { config },
    image,
    user: '0:0',
    capabilities: ['DAC_READ_SEARCH'],
    command: ['/bin/sh', '-c', READ_LOGS],
    mounts: states.map(({ volume, domain }) => ({
      type: 'volume',
      source: volume,
      target: `/volumes/${domain}`,
      readOnly: true,
    })),
  });
  const names = new Set(running.map(({ name }) => name));
  return output
    .split('\n')
    .flatMap((line) => readLine(line))
    .filter(({ name }) => !names.has(name))
    .sort((a, b) => b.time.localeCompare(a.time));
}

function readLine(line: string): EndedSandbox[] {
  const [path = '', entry = ''] = line.split('\t');
  const match = /^\/volumes\/([^/]+)\/logs\/sandboxes\/([A-Za-z0-9_.-]+)\.jsonl$/.exec(path);
  const parsed = parseLogLine(entry);
  if (match?.[1] === undefined || match[2] === undefined || parsed === undefined) return [];
  return [{ name: match[2], domain: match[1], time: parsed.time, reason: endingReason(parsed) }];
}
