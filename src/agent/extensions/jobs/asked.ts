/** What a model asks of the tool: pi has checked it against the schema; what an action needs may still be missing. */
import { UsageError } from '../../../lib/errors.ts';

export interface Asked<Action extends string> {
  readonly action: Action;
  /** Whatever it is. */
  value(name: string): unknown;
  text(name: string): string | undefined;
  number(name: string): number | undefined;
  flag(name: string): boolean;
  /** @throws UsageError that tells the model what to give */
  needed(name: string): string;
}

/** @throws UsageError for what is no action */
export function readAsked<Action extends string>(
  parameters: unknown,
  actions: readonly Action[],
): Asked<Action> {
  const given = typeof parameters === 'object' && parameters !== null ? parameters : {};
  const value = (name: string): unknown => Reflect.get(given, name);
  const text = (name: string): string | undefined => {
    const found = value(name);
    return typeof found === 'string' && found.trim() !== '' ? found : undefined;
  };
  const word = text('action') ?? '';
  const action = actions.find((known) => known === word);
  if (action === undefined) throw new UsageError(`"${word}" is no action: use one of ${actions.join(', ')}`);
  return {
    action,
    value,
    text,
    number(name) {
      const found = value(name);
      return typeof found === 'number' && Number.isFinite(found) && found >= 0 ? found : undefined;
    },
    flag: (name) => value(name) === true,
    needed(name) {
      const found = text(name);
      if (found === undefined) throw new UsageError(`${action} needs "${name}"`);
      return found;
    },
  };
}
