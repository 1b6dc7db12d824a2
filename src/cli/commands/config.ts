/** `pi-sandbox config show` and `config check` (S6, S8). */
import { access } from 'node:fs/promises';
import { homedir } from 'node:os';
import { ConfigError, EXIT, messageOf, PiSandboxError } from '../../lib/errors.ts';
import { jsonText } from '../../lib/json-text.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { table } from '../../lib/table.ts';
import {
  type Config,
  domainOf,
  domainTies,
  type Environment,
  examineConfig,
  hostCertificates,
  loadConfig,
  mergeLevels,
  mergeSessionConfig,
  shownMerge,
  shownSettings,
} from '../config/index.ts';
import { gitIdentity } from '../sandbox/git-identity.ts';
import { type Project, resolveProject } from '../sandbox/project.ts';
import { withGitIdentity } from '../sandbox/session-merge.ts';

export interface ConfigOptions {
  readonly domain?: string;
  readonly json?: boolean;
  readonly trustProjectConfig?: boolean;
}

/** Where the command reads and writes; the process's own by default. */
export interface Surroundings {
  readonly env: Environment;
  readonly home: string;
  readonly cwd: string;
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
}

function ownSurroundings(): Surroundings {
  return {
    env: process.env,
    home: homedir(),
    cwd: process.cwd(),
    stdout: process.stdout,
    stderr: process.stderr,
  };
}

/** Prints what a Session of the project would get, with the origin of each key; values that look secret are hidden. */
export async function configShow(
  argument: string | undefined,
  options: ConfigOptions,
  at: Surroundings = ownSurroundings(),
): Promise<number> {
  const config = await loadConfig(at);
  const project = await resolveProject(argument, at);
  const domain = domainOf(config, project.canonical, options.domain);
  const trust = options.trustProjectConfig === undefined ? {} : { trustProject: options.trustProjectConfig };
  const { canonical } = project;
  const [merged, identity] = await Promise.all([
    mergeSessionConfig({ config, domain, project: canonical, env: at.env, ...trust }),
    gitIdentity({ project: canonical, home: at.home, env: at.env, canSign: false }),
  ]);
  const merge = withGitIdentity(merged, identity);
  const settings = shownSettings(config);
  const session = shownMerge(merge);
  const warnings = [...config.warnings, ...merge.warnings, ...identity.warnings];
  for (const warning of warnings) at.stderr.write(`pi-sandbox: warning: ${safeForTerminal(warning)}\n`);
  if (options.json) {
    const facts = {
      version: 1,
      project: project.canonical,
      domain,
      directory: config.directory,
      settings,
      session,
      warnings,
    };
    at.stdout.write(`${jsonText(facts, 2)}\n`);
    return 0;
  }
  at.stdout.write(
    `${safeForTerminal(project.display)} is in domain ${domain}; configuration: ${safeForTerminal(config.directory)}\n\n`,
  );
  const rows = settings.map(({ key, value, from }) => [key, value, from]);
  at.stdout.write(
    table(
      ['key', 'value', 'from'],
      rows.map((row) => row.map((cell) => safeForTerminal(cell))),
    ),
  );
  const files = session.map(({ file, key, value, from }) => [file, key, value, from]);
  at.stdout.write(
    `\n${table(
      ['file', 'key', 'value', 'from'],
      files.map((row) => row.map((cell) => safeForTerminal(cell))),
    )}`,
  );
  return 0;
}

interface Finding {
  readonly level: 'error' | 'warning';
  readonly message: string;
}

/** Checks `.env`, the environment, and every level's files; exit code 2 if anything is wrong. */
export async function configCheck(
  argument: string | undefined,
  options: ConfigOptions,
  at: Surroundings = ownSurroundings(),
): Promise<number> {
  const findings: Finding[] = [];
  const error = (failure: unknown): void => {
    if (!(failure instanceof PiSandboxError)) throw failure;
    const hint = failure.hint === undefined ? '' : ` (${failure.hint})`;
    findings.push({ level: 'error', message: `${messageOf(failure)}${hint}` });
  };
  const warn = (message: string): void => {
    findings.push({ level: 'warning', message });
  };
  const examined = await examineConfig(at).catch((failure: unknown) => {
    error(failure);
    return undefined;
  });
  examined?.problems.forEach(error);
  const project = await resolveProject(argument, at).catch(error);
  if (examined !== undefined)
    await checkAll(examined.config, project ?? undefined, argument !== undefined, at.env, error, warn);
  const failed = findings.some(({ level }) => level === 'error');
  if (options.json) at.stdout.write(`${jsonText({ version: 1, ok: !failed, findings }, 2)}\n`);
  else {
    for (const { level, message } of findings) at.stdout.write(`${level}: ${safeForTerminal(message)}\n`);
    if (findings.length === 0) at.stdout.write('no problems found\n');
  }
  return failed ? EXIT.usage : 0;
}

async function checkAll(
  config: Config,
  project: Project | undefined,
  named: boolean,
  env: Environment,
  error: (failure: unknown) => void,
  warn: (message: string) => void,
): Promise<void> {
  config.warnings.forEach(warn);
  domainTies(config).forEach(error);
  await checkPaths(config, error, warn);
  for (const name of config.PASS_ENV) {
    if (env[name] === undefined) warn(`PASS_ENV: ${name} is not set in this environment`);
  }
  await hostCertificates(config, env).then(({ warnings }) => warnings.forEach(warn), error);
  const seen = new Set<string>();
  const report = ({ warnings }: { warnings: readonly string[] }): void => {
    // The global level is read once per domain, and says the same each time.
    for (const warning of warnings) if (!seen.has(warning)) warn(warning);
    for (const warning of warnings) seen.add(warning);
  };
  for (const { id } of config.domains) await mergeLevels({ config, domain: id }).then(report, error);
  if (project === undefined) return;
  try {
    const domain = domainOf(config, project.canonical);
    await mergeLevels({ config, domain, project: project.canonical }).then(report, error);
  } catch (failure) {
    // Only a directory that was named has to be a project; the current one just happens to be here.
    if (named) error(failure);
  }
}

async function checkPaths(
  config: Config,
  error: (failure: unknown) => void,
  warn: (message: string) => void,
): Promise<void> {
  const exists = (path: string): Promise<boolean> =>
    access(path).then(
      () => true,
      () => false,
    );
  for (const { key, paths } of config.domains) {
    for (const path of paths)
      if (!(await exists(path))) warn(`DOMAIN_${key}_PATHS: ${path} does not exist yet`);
  }
  const extra = config.IMAGE_EXTRA;
  if (extra !== undefined && !(await exists(extra))) {
    error(
      new ConfigError(
        config.origins.get('IMAGE_EXTRA') ?? 'IMAGE_EXTRA',
        `IMAGE_EXTRA names ${extra}, which does not exist`,
      ),
    );
  }
}
