import type { Engine } from '../../engine/index.ts';
import { OperationError } from '../../lib/errors.ts';
import type { CommandContext } from '../context.ts';
import { progressLine } from '../ui/progress.ts';
import { confirm } from '../ui/prompt.ts';
import { info } from '../ui/report.ts';
import { buildImage, type ImagePlan } from './image.ts';

export interface BuildWishes {
  /** `--offline-base`: take the base made on this machine without asking. */
  offlineBase?: boolean;
  /** `--no-build` gives false. */
  build?: boolean;
  rebuild?: boolean;
  verbose?: boolean;
}

/** Builds the image with a progress line on a terminal, and the whole log when it fails or `--verbose` asks (S21). */
export async function buildWithProgress(
  context: Pick<CommandContext, 'config' | 'env'>,
  engine: Engine,
  plan: ImagePlan,
  wishes: BuildWishes,
): Promise<void> {
  if (wishes.build === false) {
    throw new OperationError(`the image ${plan.name} is missing, and --no-build forbids to build it`, {
      hint: 'pi-sandbox image build',
    });
  }
  const progress = progressLine(`building the image ${plan.name}`);
  try {
    await buildImage({
      engine,
      plan,
      env: context.env,
      certificates:
        context.config.CA_CERTIFICATES ?? context.env.NODE_EXTRA_CA_CERTS ?? context.env.SSL_CERT_FILE,
      offlineBase: wishes.offlineBase === true ? 'use' : () => askForOfflineBase(progress.pause),
      noCache: wishes.rebuild === true,
      onProgress: progress.show,
      onNotice: (line) => {
        progress.pause();
        info(line);
      },
      ...(wishes.verbose === true ? { onLog: (line: string) => void process.stderr.write(`${line}\n`) } : {}),
    });
    progress.done();
  } catch (error) {
    progress.failed(error, { logShown: wishes.verbose === true });
    throw error;
  }
}

async function askForOfflineBase(pause: () => void): Promise<boolean> {
  pause();
  const answer = process.stdin.isTTY && process.stderr.isTTY ? undefined : false;
  return confirm('Build on a base image made on this machine instead?', '--offline-base', answer);
}
