/** What a model asks of the tool: pi has checked it against the schema; what an action needs may still be missing. */
import { ACTIONS, type Action } from './parameters.ts';

export interface Asked {
  readonly action: Action;
  text(name: string): string | undefined;
  number(name: string): number | undefined;
  flag(name: string): boolean;
  /** @throws Error that tells the model what to give */
  needed(name: string): string;
}

/** @throws Error for what is no action */
export function readAsked(parameters: unknown): Asked {
  const given = typeof parameters === 'object' && parameters !== null ? parameters : {};
  const value = (name: string): unknown => Reflect.get(given, name);
  const text = (name: string): string | undefined => {
    const found = value(name);
    return typeof found === 'string' && found.trim() !== '' ? found : undefined;
  };
  const word = text('action') ?? '';
  const action = ACTIONS.find((known) => known === word);
  if (action === undefined) throw new Error(`"${word}" is no action: use one of ${ACTIONS.join(', ')}`);
  return {
    action,
    text,
    number(name) {
      const found = value(name);
      return typeof found === 'number' && Number.isFinite(found) && found >= 0 ? found : undefined;
    },
    flag: (name) => value(name) === true,
    needed(name) {
      const found = text(name);
      if (found === undefined) throw new Error(`${action} needs "${name}"`);
      return found;
    },
  };
}
