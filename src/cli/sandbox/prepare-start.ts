import { randomBytes } from 'node:crypto';
import { certificateEnvironment } from '../../agent-dir/index.ts';
import type { MountSpec } from '../../engine/index.ts';
import { systemClock } from '../../lib/clock.ts';
import type { RelayService, RunRequest } from '../../wire/index.ts';
import { domainOf, jobsEnvironment, passedEnvironment, terminalEnvironment } from '../config/index.ts';
import { type CommandContext, openContext } from '../context.ts';
import { info, warn } from '../ui/report.ts';
import { brainMounts } from './brains.ts';
import type { ContainerOptions } from './container-spec.ts';
import { requireFreeName } from './find-sandboxes.ts';
import { gitIdentity } from './git-identity.ts';
import type { Opening } from './greeting.ts';
import { gitMounts, mountedFolders } from './host-mounts.ts';
import { type ImagePlan, planImage } from './image.ts';
import { buildWithProgress } from './image-on-demand.ts';
import { removeUnusedNetworkOf } from './network.ts';
import { requireSafeProject, resolveProject, sandboxUser } from './project.ts';
import { type RelayState, relaysOf, type ServiceOffer } from './relay-state.ts';
import { type Sandbox, sandboxOf } from './sandbox.ts';
import { serviceOffers } from './service-offers.ts';
import { type MergeForStart, mergeForStart } from './session-merge.ts';
import {
  aliasOf,
  cpuLimit,
  environmentFromFlags,
  KeptOptions,
  memoryLimit,
  mountsFromFlags,
  networkMode,
  onlyForNew,
  publishedFromFlags,
  type StartOptions,
} from './start-options.ts';
import type { StartPlan } from './start-plan.ts';
import { terminalDescription } from './terminal-description.ts';

/** The program to run in the sandbox, and whether it has the user's terminal. */
export interface ProgramChoice {
  program: RunRequest['program'];
  arguments: readonly string[];
  terminal: boolean;
}

export interface PreparedStart {
  plan: StartPlan;
  sandbox: Sandbox;
  /** What of this machine the sandbox may reach through a relay, once it is there. */
  offers: readonly ServiceOffer[];
  /** What it reaches already, by an earlier start's offer. */
  relayed: readonly RelayState[];
  close(): void;
}

/** Everything a start needs, worked out from the command line, the configuration and the project: nothing is made yet. */
export async function prepareStart(
  argument: string | undefined,
  choice: ProgramChoice,
  options: StartOptions,
): Promise<PreparedStart> {
  const context = await openContext(options);
  const { config, engine, env, home } = context;
  const project = await resolveProject(argument, { cwd: process.cwd(), home });
  // A local engine's address is the path of its socket.
  const sockets = engine.local ? [engine.address] : [];
  await requireSafeProject(
    project,
    { home, configDirectory: config.directory, engineSockets: sockets },
    options.force,
  );
  const domain = domainOf(config, project.canonical, options.domain);
  const user = sandboxUser({
    env,
    getuid: process.getuid?.bind(process),
    getgid: process.getgid?.bind(process),
    projectOwner: project.owner,
    config,
    rootlessOwner: await engine.rootlessOwner(),
  });
  const sandbox = sandboxOf(config, domain, project, user);
  const offers = await serviceOffers(options, config, project, env, choice.terminal);
  const relayed = await relaysOf(config.directory, engine, sandbox.name).catch(() => []);
  const services = new Set([...offers, ...relayed].map(({ service }) => service));
  const brains = await brainMounts(config, domain, options.withDomain ?? [], sockets);
  const mounts = gitMounts(project.canonical, config.PROTECT_GIT);
  mounts.catch(() => undefined);
  const merged = mergeForStart(config, domain, project, sandbox.name, {
    interactive: choice.terminal,
    identity: gitIdentity({ project: project.canonical, home, env, canSign: services.has('ssh-agent') }),
    mounted: mounts.then((found) => mountedFolders(engine, project.canonical, found)),
    ...(options.trustProjectConfig === undefined ? {} : { trustProjectConfig: options.trustProjectConfig }),
  });
  let planned: ImagePlan | undefined;
  const image = (): ImagePlan => (planned ??= planImage(config.INSTALLATION_PREFIX, config));
  const build = (): Promise<void> => buildFor(context, sandbox, image(), options);
  if (options.rebuild === true) await build();
  const plan: StartPlan = {
    engine,
    sandbox,
    options: containerOptions(
      context,
      sandbox,
      mounts.then((found) => [...found, ...brains]),
      merged,
      options,
    ),
    onlyForNew: onlyForNew(options),
    network: networkMode(options, config),
    image: () => image().name,
    buildImage: build,
    opening: openingOf(context, sandbox, merged, choice, options, services),
    clock: systemClock,
    debug: context.debug,
  };
  plan.opening.catch(() => undefined);
  plan.options.catch(() => undefined);
  return { plan, sandbox, offers, relayed, close: engine.close };
}

async function buildFor(
  context: CommandContext,
  sandbox: Sandbox,
  image: ImagePlan,
  options: StartOptions,
): Promise<void> {
  try {
    await buildWithProgress(context, context.engine, image, options);
  } catch (error) {
    // It was made while the engine was asked for the image.
    await removeUnusedNetworkOf(context.engine, sandbox).catch(() => undefined);
    throw error;
  }
}

async function containerOptions(
  { config, engine, env }: CommandContext,
  sandbox: Sandbox,
  ownMounts: Promise<MountSpec[]>,
  merged: Promise<MergeForStart>,
  options: StartOptions,
): Promise<ContainerOptions> {
  const mounts = [...(await ownMounts), ...mountsFromFlags(options.mount)];
  const publish = publishedFromFlags(options.publish, networkMode(options, config), sandbox.project.display);
  const { merge } = await merged;
  const alias = aliasOf(options);
  if (alias !== undefined) await requireFreeName(engine, sandbox, alias);
  return {
    memoryBytes: await memoryLimit(options, config, engine),
    cpus: cpuLimit(options, config),
    readOnlyProject: options.readOnlyProject === true,
    mounts,
    alias,
    publish,
    given: KeptOptions.parse(options),
    environment: {
      ...passedEnvironment(config, env).container,
      ...(merge.certificates === undefined ? {} : certificateEnvironment()),
      ...(env.TZ === undefined ? {} : { TZ: env.TZ }),
    },
  };
}

async function openingOf(
  { config, env, home }: CommandContext,
  { project, domain }: Sandbox,
  merged: Promise<MergeForStart>,
  choice: ProgramChoice,
  options: StartOptions,
  services: ReadonlySet<RelayService>,
): Promise<Opening> {
  const [{ packed }, description] = await Promise.all([
    merged,
    choice.terminal ? terminalDescription(env, home) : undefined,
  ]);
  const { columns, rows } = process.stdout;
  return {
    request: {
      verb: 'run',
      id: randomBytes(16).toString('hex'),
      program: choice.program,
      arguments: [...choice.arguments],
      directory: project.canonical,
      environment: {
        ...terminalEnvironment(env),
        ...jobsEnvironment(config, domain),
        ...passedEnvironment(config, env).process,
        ...(options.demo === true ? { PI_SANDBOX_DEMO: '1' } : {}),
        ...environmentFromFlags(options.env, env),
      },
      ...(choice.terminal ? { terminal: { columns: columns || 80, rows: rows || 24 } } : {}),
      ...(description === undefined ? {} : { terminalDescription: description }),
      merge: { length: packed.length, sha256: packed.sha256 },
      ...(services.size === 0 ? {} : { services: [...services] }),
    },
    merge: packed.tar,
    onStatus: ({ level, text }) => (level === 'warning' ? warn(text) : info(text)),
  };
}
