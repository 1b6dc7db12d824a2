/** Whose a run is, and who may change it (R6). Pure: whether the lock is held is its caller's to find out. */
import type { Caller } from '../jobs/index.ts';
import { RunError } from './errors.ts';
import type { Manifest, Ownership } from './manifest.ts';
import type { RunState } from './status-file.ts';

export const OWNER_CLASSES = ['this-session', 'foreign-session', 'orphan', 'unknown'] as const;
export type OwnerClass = (typeof OWNER_CLASSES)[number];

/** Who asks: a Session, or the operator, who is neither in a Session nor a job (a shell, the host). */
export interface RunCaller {
  readonly session: string | null;
  readonly operator: boolean;
}

export function runCaller({ session, parent }: Pick<Caller, 'session' | 'parent'>): RunCaller {
  return { session, operator: session === null && parent === undefined };
}

/** Who asks, for people to read. */
export function callerText({ session, operator }: RunCaller): string {
  if (session !== null) return `session ${session}`;
  return operator ? 'the operator' : 'an agent';
}

/** Who owns a run, for people to read. */
export function describeOwner({ ownerSessionId, ownerPid, ownerContainer }: Ownership): string {
  const who = ownerSessionId === null ? 'an operator' : `session ${ownerSessionId}`;
  return `${who}, process ${ownerPid} on ${ownerContainer}`;
}

/** What decides whose a run is. `held` undefined: the lock could not be asked. */
export interface OwnershipFacts {
  readonly ownerSessionId: string | null;
  readonly adopted: boolean;
  readonly terminal: boolean;
  readonly held: boolean | undefined;
}

export function ownershipFacts(
  { ownerSessionId, adopted }: Pick<Manifest, 'ownerSessionId' | 'adopted'>,
  { terminal }: Pick<RunState, 'terminal'>,
  held: boolean | undefined,
): OwnershipFacts {
  return { ownerSessionId, adopted, terminal, held };
}

/** A finished run is never an orphan, for nobody need hold it. */
export function ownerClassOf(
  { ownerSessionId, terminal, held }: OwnershipFacts,
  caller: RunCaller,
): OwnerClass {
  if (!terminal && held === undefined) return 'unknown';
  if (!terminal && held === false) return 'orphan';
  return isOwn(ownerSessionId, caller) ? 'this-session' : 'foreign-session';
}

/** Whether a run whose manifest has this Session, or none, is the caller's (R6). */
export function isOwn(owner: string | null, { session, operator }: RunCaller): boolean {
  return owner === null ? operator : owner === session;
}

export type Mutation = 'message' | 'cancel' | 'cleanup';

/**
 * Whether a caller may do this to a run, by R6's table.
 *
 * @throws RunError `run-is-final`, `run-is-live`, `owned-by-other`, `orphan`
 */
export function mayMutate(
  mutation: Mutation,
  run: { readonly id: string; readonly facts: OwnershipFacts; readonly owner: string },
  caller: RunCaller & { readonly force: boolean },
): void {
  const { id, facts, owner } = run;
  const found = ownerClassOf(facts, caller);
  if (facts.terminal && mutation !== 'cleanup')
    throw new RunError('run-is-final', `run ${id} has ended, so there is nothing to ${mutation}`, {
      hint: `multi-agent runs show ${id} shows how`,
    });
  if (found === 'unknown')
    throw new RunError('failed', `it cannot be told who owns run ${id}`, { hint: 'try again' });
  if (!facts.terminal && found !== 'orphan' && mutation === 'cleanup')
    throw new RunError('run-is-live', `run ${id} is running (${owner}), so it cannot be cleaned up`, {
      hint: `multi-agent runs cancel ${id}, then clean it up`,
    });
  const isAdopted = facts.adopted && isOwn(facts.ownerSessionId, caller);
  if (found === 'orphan' && !isAdopted && !caller.force)
    throw new RunError('orphan', `run ${id} has no owner any more (${owner} had it)`, {
      hint: `multi-agent runs take-ownership ${id}${mutation === 'message' ? ' --continue' : ''} makes it yours`,
    });
  if (found !== 'foreign-session') return;
  const isAllowed = caller.force && (facts.terminal || caller.operator);
  if (isAllowed) return;
  const force =
    facts.terminal || caller.operator ? `--force does it all the same` : 'only its owner can do that';
  throw new RunError('owned-by-other', `run ${id} belongs to ${owner}`, {
    hint: force,
    details: { ownerSessionId: facts.ownerSessionId },
  });
}
