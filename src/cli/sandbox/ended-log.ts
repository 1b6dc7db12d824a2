import type { Engine } from '../../engine/index.ts';
import { OperationError, UsageError } from '../../lib/errors.ts';
import type { Config, DomainId } from '../config/index.ts';
import { type DomainState, domainStates } from './ended-sandboxes.ts';
import { isSandboxName, sandboxName } from './names.ts';
import { runHelper } from './volumes.ts';

export interface EndedLogQuery {
  /** As it was typed: a sandbox's name, or the project's directory. */
  word: string;
  /** The directory that it would be. */
  project: string;
  domain: string | undefined;
  /** Lines. */
  tail: number;
}

/**
 * First the logs that are there, one path a line, then an empty line, then the end of the log if it is one. A log
 * that was rotated goes on in front of the current one. By bytes before lines: a sandbox can leave a file of any length
 * without one line in it (rule 7).
 */
const READ = `
lines=$1; shift; found=
is_log() { [ -f "$1" ] && [ ! -L "$1" ]; }
for log; do
  if is_log "$log" || is_log "$log.1"; then echo "$log"; found="$found $log"; fi
done
echo
set -- $found
[ $# = 1 ] || exit 0
for log in "$1.1" "$1"; do if is_log "$log"; then tail -c 4000000 "$log"; fi; done | tail -n "$lines"
`;

/**
 * The end of the log of a sandbox that is gone, read from its domain's volume by a helper container (S14, S15).
 *
 * @throws UsageError when there is none, or there are logs in several domains
 */
export async function endedLog(
  engine: Engine,
  config: Config,
  image: string,
  query: EndedLogQuery,
): Promise<string> {
  const { word, domain: asked } = query;
  const states = await domainStates(engine, config);
  const asName = isSandboxName(config.INSTALLATION_PREFIX, word);
  const candidates = states
    .filter(({ domain }) => asked === undefined || domain === asked)
    .map((state) => ({ ...state, names: [nameIn(state.domain, config, query), ...(asName ? [word] : [])] }));
  if (candidates.length === 0) throw noLog(word);
  if ((await engine.images.inspect(image)) === undefined) {
    throw new OperationError(
      `the log of ${word} cannot be read: the image ${image}, which reads it, is missing`,
      {
        hint: 'pi-sandbox image build',
      },
    );
  }
  const output = await runHelper(engine, {
    sandbox: { config },
    image,
    user: '0:0',
    capabilities: ['DAC_READ_SEARCH'],
    command: ['/bin/sh', '-c', READ, 'logs', String(query.tail), ...candidates.flatMap(filesOf)],
    mounts: candidates.map(({ volume, domain }) => ({
      type: 'volume',
      source: volume,
      target: `/volumes/${domain}`,
      readOnly: true,
    })),
  });
  const end = output.startsWith('\n') ? 0 : output.indexOf('\n\n') + 1;
  const found = output
    .slice(0, end)
    .split('\n')
    .filter((line) => line !== '');
  if (found.length === 0) throw noLog(word);
  if (found.length > 1) {
    const domains = found.map((path) => path.split('/')[2]).join(', ');
    throw new UsageError(`${word} has had sandboxes in several domains: ${domains}`, {
      hint: 'choose with --domain',
    });
  }
  return output.slice(end + 1);
}

function nameIn(domain: DomainId, config: Config, { project }: EndedLogQuery): string {
  return sandboxName(config.INSTALLATION_PREFIX, domain, project);
}

function filesOf({ domain, names }: DomainState & { names: string[] }): string[] {
  return names.map((name) => `/volumes/${domain}/logs/sandboxes/${name}.jsonl`);
}

function noLog(word: string): UsageError {
  return new UsageError(`there is no log of ${word}: no sandbox of it ever ran`, {
    hint: 'pi-sandbox ps --all lists what there is',
  });
}
