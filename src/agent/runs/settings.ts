/** What `start` and `schedule add`, and the tool, let their user set of a run. */
import { LIMITS, type StartRequest } from '../../runs/index.ts';

export interface SettingOptions {
  readonly maxSteps?: number;
  readonly concurrency?: number;
  /** Seconds. */
  readonly timeout?: number;
  readonly retention?: number;
  readonly retry?: 'died' | 'none';
  readonly maxCost?: number;
  readonly maxTokens?: number;
}

export function settingsOf(options: SettingOptions): StartRequest['settings'] {
  return {
    concurrency: options.concurrency ?? LIMITS.concurrency,
    timeoutSeconds: options.timeout ?? LIMITS.runSeconds,
    terminalRetentionSeconds: options.retention ?? LIMITS.retentionSeconds,
    retry: options.retry ?? 'died',
    maxCost: options.maxCost ?? null,
    maxTokens: options.maxTokens ?? null,
  };
}
