/** Building the session image (S21), on the public base or, where that cannot be had, on the offline one (S22). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BuildRequest, ImageBuildError } from '../../engine/index.ts';
import { OperationError } from '../../lib/errors.ts';
import { certificateFile, hasLoopbackProxy, npmRegistry, proxyArguments } from './image-build-arguments.ts';
import { packContext } from './image-context.ts';
import { fragmentContext } from './image-extra.ts';
import { type ImageEngine, type ImagePlan, OFFLINE } from './image-plan.ts';
import { ensureOfflineBase, offlineBaseName } from './offline-base.ts';

export interface ImageBuildOptions {
  readonly engine: ImageEngine;
  readonly plan: ImagePlan;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A PEM file that the host trusts (`CA_CERTIFICATES`, `NODE_EXTRA_CA_CERTS` or `SSL_CERT_FILE`, S10). */
  readonly certificates?: string | undefined;
  /** Asked when the public base cannot be pulled; `reason` is one line. A fixed answer where there is nobody to ask. */
  readonly offlineBase: 'use' | 'never' | ((reason: string) => Promise<boolean>);
  /** Every step from the start, nothing taken from the engine's cache. */
  readonly noCache?: boolean;
  /** One short line for a progress display. */
  readonly onProgress?: (line: string) => void;
  /** Every line of the engine's log, for `--verbose`. */
  readonly onLog?: (line: string) => void;
  /** A sentence that the user should read, such as that the offline base is used. */
  readonly onNotice?: (line: string) => void;
  readonly signal?: AbortSignal;
}

export interface BuiltImage {
  readonly name: string;
  /** The base it really stands on. */
  readonly base: string;
}

/**
 * Builds the plan's image.
 *
 * @throws ImageBuildError with the engine's full log in `log`.
 * @throws OperationError when the public base cannot be pulled and the offline one was not wanted or not possible.
 */
export async function buildImage(options: ImageBuildOptions): Promise<BuiltImage> {
  const { plan } = options;
  const base = (await reusablePlain(options)) ?? (await buildPlain(options));
  if (plan.plain && plan.fragment !== undefined) {
    options.onProgress?.('image: adding IMAGE_EXTRA');
    await build(options, {
      context: await packContext(fragmentContext(plan.plain.name, plan.fragment)),
      tags: [plan.name],
      dockerfile: 'Dockerfile',
      labels: labels(plan, plan.hash, base),
      buildArgs: proxyArguments(options.env),
    });
  }
  return { name: plan.name, base };
}

/** Only IMAGE_EXTRA changed: what it goes on from is there already. @returns its base. */
async function reusablePlain({ engine, plan, noCache }: ImageBuildOptions): Promise<string | undefined> {
  if (plan.plain === undefined || noCache) return undefined;
  return (await engine.images.inspect(plan.plain.name))?.labels['pi-sandbox.base'];
}

async function buildPlain(options: ImageBuildOptions): Promise<string> {
  const { plan } = options;
  const wanted = plan.settings.BASE_IMAGE;
  if (wanted === OFFLINE || (await baseWasMadeBefore(options))) {
    return buildOn(options, await offlineBase(options));
  }
  try {
    return await buildOn(options, wanted);
  } catch (error) {
    const reason = pullFailure(error);
    if (reason === undefined) throw error;
    await agreeOnOfflineBase(options, wanted, reason);
    return buildOn(options, await offlineBase(options));
  }
}

/** Whoever agreed to the offline base once is not asked again, and no pull is tried that failed before. */
async function baseWasMadeBefore({ engine, plan, noCache }: ImageBuildOptions): Promise<boolean> {
  if (noCache === true) return false;
  return (await engine.images.inspect(offlineBaseName(plan.prefix, plan.root))) !== undefined;
}

async function agreeOnOfflineBase(
  { offlineBase: answer, onNotice }: ImageBuildOptions,
  base: string,
  reason: string,
) {
  onNotice?.(`the base image ${base} cannot be pulled: ${reason}`);
  const agreed = typeof answer === 'function' ? await answer(reason) : answer === 'use';
  if (!agreed) {
    throw new OperationError(`the base image ${base} cannot be pulled: ${reason}`, {
      hint: 'check the network, set BASE_IMAGE to one that can be pulled, or build on the offline base: pi-sandbox image build --offline-base',
    });
  }
  onNotice?.("building on the offline base instead: this machine's Debian packages and Node from npm");
}

function offlineBase({ engine, plan, onProgress, onLog, signal }: ImageBuildOptions): Promise<string> {
  return ensureOfflineBase({
    engine,
    prefix: plan.prefix,
    root: plan.root,
    signal,
    onProgress: (line) => {
      onProgress?.(`offline base: ${line.replace(/^(offline base|I|W): /, '')}`);
      onLog?.(line);
    },
  });
}

async function buildOn(options: ImageBuildOptions, base: string): Promise<string> {
  const { plan, env, certificates } = options;
  const { name, hash } = plan.plain ?? plan;
  const registry = await npmRegistry(env);
  await build(options, {
    context: await packContext([...plan.files, ...certificateFile(certificates)]),
    tags: [name],
    dockerfile: 'docker/Dockerfile',
    labels: labels(plan, hash, base),
    buildArgs: {
      ...proxyArguments(env),
      BASE_IMAGE: base,
      PI_VERSION: plan.settings.PI_VERSION,
      INSTALLATION_PREFIX: plan.prefix,
      ...(registry === undefined ? {} : { NPM_CONFIG_REGISTRY: registry }),
    },
  });
  return base;
}

function labels({ prefix, root }: ImagePlan, hash: string, base: string): Record<string, string> {
  return {
    'pi-sandbox.prefix': prefix,
    'pi-sandbox.role': 'image',
    'pi-sandbox.version': packageVersion(root),
    'pi-sandbox.hash': hash,
    'pi-sandbox.base': base,
  };
}

function packageVersion(root: string): string {
  const parsed: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const isPackage = typeof parsed === 'object' && parsed !== null && 'version' in parsed;
  return isPackage && typeof parsed.version === 'string' ? parsed.version : 'unknown';
}

function build(
  { engine, env, noCache, onProgress, onLog, signal }: ImageBuildOptions,
  request: BuildRequest,
) {
  return engine.images.build({
    ...request,
    ...(noCache === undefined ? {} : { noCache }),
    ...(signal === undefined ? {} : { signal }),
    ...(engine.local && hasLoopbackProxy(proxyArguments(env)) ? { networkMode: 'host' } : {}),
    onProgress: (line) => {
      onLog?.(line);
      const step = stepLine(line);
      if (step !== undefined) onProgress?.(step);
    },
  });
}

const STEP_WIDTH = 60;

/** "image 7/23: RUN apt-get update …" out of a builder's "Step 7/23 : RUN …" (Docker) or "STEP 7/23: RUN …" (Podman). */
export function stepLine(line: string): string | undefined {
  const match = /^step (\d+)\/(\d+) ?: (.*)/is.exec(line);
  if (!match) return undefined;
  const [, step, total, text = ''] = match;
  const instruction = text.replace(/\s+/g, ' ').trim();
  const shown = instruction.length > STEP_WIDTH ? `${instruction.slice(0, STEP_WIDTH - 1)}…` : instruction;
  return `image ${step}/${total}: ${shown}`;
}

/**
 * Why the base could not be pulled, when that is what ended a build: its last step is then a FROM, since every later
 * step needs the base. Undefined for every other failure.
 */
export function pullFailure(error: unknown): string | undefined {
  if (!(error instanceof ImageBuildError)) return undefined;
  const lines = error.log.split('\n');
  const steps = lines.filter((line) => /^step \d+\/\d+ ?:/i.test(line));
  // Some engines pull before they tell any step.
  const atFrom =
    steps.length === 0 ? /pull|registry|manifest/i.test(error.log) : /: FROM /i.test(steps.at(-1) ?? '');
  if (!atFrom) return undefined;
  return lines.findLast((line) => line.trim() !== '')?.trim() ?? error.message;
}
