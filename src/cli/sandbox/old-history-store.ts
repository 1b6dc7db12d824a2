import type { Engine } from '../../engine/index.ts';
import {
  LEGACY_VERSION,
  type LegacyClearReport,
  type LegacyContent,
  type LegacyMessage,
  type LegacyRequest,
} from '../../history/index.ts';
import { OperationError } from '../../lib/errors.ts';
import { type Config, legacyTable } from '../config/index.ts';
import { volumeOfName } from './names.ts';
import { OLD_HISTORY, readOldHistoryAnswers } from './old-history.ts';
import { requireHelperSuccess, useHelper } from './volumes.ts';

const SHARED = '/volumes/agent-state';

export interface OldHistoryScene {
  readonly engine: Engine;
  readonly config: Config;
  /** The current image's name. */
  readonly image: string;
}

/** What lies in the shared volume from before domains had their own; undefined where there is no such volume (S12). */
export async function oldHistory(scene: OldHistoryScene): Promise<LegacyContent | undefined> {
  const answer = await ask(scene, 'status');
  if (answer === undefined) return undefined;
  if (answer.step === 'status') return answer.content;
  throw failed(answer);
}

/** Deletes what of it belongs to no configured domain, at once and for good (S13). */
export async function clearOldHistory(scene: OldHistoryScene): Promise<LegacyClearReport> {
  const answer = await ask(scene, 'clear');
  if (answer?.step === 'cleared') return answer.report;
  throw failed(answer);
}

async function ask(
  { engine, config, image }: OldHistoryScene,
  verb: 'status' | 'clear',
): Promise<LegacyMessage | undefined> {
  const prefix = config.INSTALLATION_PREFIX;
  const volumes = await engine.volumes.list({ namePrefix: prefix });
  const shared = volumes.find(({ name }) => volumeOfName(prefix, name)?.role === 'agent-state');
  if (shared === undefined) return undefined;
  const request: LegacyRequest = {
    version: LEGACY_VERSION,
    verb,
    sharedRoot: SHARED,
    table: legacyTable(config),
  };
  const { value, end } = await useHelper(
    engine,
    {
      sandbox: { config },
      image,
      user: '0:0',
      capabilities: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER'],
      command: [...OLD_HISTORY.split(' '), JSON.stringify(request)],
      mounts: [{ type: 'volume', source: shared.name, target: SHARED }],
    },
    readOldHistoryAnswers,
  );
  requireHelperSuccess(end);
  return value;
}

function failed(answer: LegacyMessage | undefined): OperationError {
  const reason = answer?.step === 'failed' ? answer.message : 'its answer is not whole';
  return new OperationError(`the old history could not be looked at: ${reason}`);
}
