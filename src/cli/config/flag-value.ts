/** A flag that overrides a key takes the same values as the key (`--memory`, `--cpus`, `--network`, …; S14). */
import { UsageError } from '../../lib/errors.ts';
import { type SettingName, Settings } from './keys.ts';
import { shown } from './values.ts';

/** The typed value of `key` as given by `flag`. @throws UsageError naming flag, value and what is allowed */
export function settingFromFlag<K extends SettingName>(key: K, value: string, flag: string): Settings[K] {
  const result = Settings.safeParse({ [key]: value });
  if (result.success) return result.data[key];
  throw new UsageError(
    `${flag} is "${shown(value)}"; allowed: ${result.error.issues[0]?.message ?? 'another value'}`,
  );
}
