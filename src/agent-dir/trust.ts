import { dirname } from 'node:path';

/** pi's trust decisions: canonical directory to trusted, not trusted, or undecided. */
export type Decisions = ReadonlyMap<string, boolean | null>;

/** The decisions in a file's text; undefined for what pi would not read either (half written, corrupt). */
export function parseDecisions(text: string): Decisions | undefined {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    const decisions = new Map<string, boolean | null>();
    for (const [path, decision] of Object.entries(value)) {
      if (typeof decision !== 'boolean' && decision !== null) return undefined;
      decisions.set(path, decision);
    }
    return decisions;
  } catch {
    return undefined;
  }
}

/**
 * Whether pi loads what a project brings along: what was decided for the nearest directory above it, itself included,
 * counts; where nothing was, the `defaultProjectTrust` of the settings.
 *
 * @param directory canonical
 */
export function isTrusted(decisions: Decisions, directory: string, byDefault: boolean): boolean {
  for (let here = directory; ; here = dirname(here)) {
    const decision = decisions.get(here);
    if (typeof decision === 'boolean') return decision;
    if (here === dirname(here)) return byDefault;
  }
}
