import { describe, expect, it } from 'vitest';
import {
  mayMutate,
  type OwnershipFacts,
  ownerClassOf,
  type RunCaller,
  RunError,
  runCaller,
} from '../../../src/runs/index.ts';

const ME: RunCaller = { session: 'me', operator: false };
const OTHER: RunCaller = { session: 'other', operator: false };
const OPERATOR: RunCaller = { session: null, operator: true };
/** An agent in a job that has no Session's id: nobody's owner. */
const AGENT: RunCaller = { session: null, operator: false };

const LIVE: OwnershipFacts = { ownerSessionId: 'me', adopted: false, terminal: false, held: true };
const ORPHAN: OwnershipFacts = { ...LIVE, held: false };
const DONE: OwnershipFacts = { ...LIVE, terminal: true, held: false };
const nobodys = (facts: OwnershipFacts): OwnershipFacts => ({ ...facts, ownerSessionId: null });

describe('whose a run is (R6)', () => {
  it.each<[string, OwnershipFacts, RunCaller, string]>([
    ['the Session’s own, running', LIVE, ME, 'this-session'],
    ['another’s, running', LIVE, OTHER, 'foreign-session'],
    ['another’s, seen by the operator', LIVE, OPERATOR, 'foreign-session'],
    ['started by the operator', nobodys(LIVE), OPERATOR, 'this-session'],
    ['started by the operator, seen by a Session', nobodys(LIVE), ME, 'foreign-session'],
    ['started by the operator, seen by an agent without a Session', nobodys(LIVE), AGENT, 'foreign-session'],
    ['its owner is gone', ORPHAN, ME, 'orphan'],
    ['its owner is gone, seen by another', ORPHAN, OTHER, 'orphan'],
    ['ended, and its owner is gone of course', DONE, ME, 'this-session'],
    ['ended, another’s', DONE, OTHER, 'foreign-session'],
    ['ended, while its owner still holds it', { ...DONE, held: true }, ME, 'this-session'],
    ['its lock cannot be asked', { ...LIVE, held: undefined }, ME, 'unknown'],
  ])('R6: %s', (_what, facts, caller, expected) => {
    expect(ownerClassOf(facts, caller)).toBe(expected);
  });

  it('R6: only who is neither in a Session nor in a job is the operator', () => {
    expect(runCaller({ session: null, parent: undefined })).toEqual(OPERATOR);
    expect(runCaller({ session: 'me', parent: undefined })).toEqual(ME);
  });
});

function refusal(
  mutation: 'message' | 'cancel' | 'cleanup',
  facts: OwnershipFacts,
  caller: RunCaller,
  force: boolean,
): string {
  try {
    mayMutate(mutation, { id: 'x', facts, owner: 'session me' }, { ...caller, force });
    return 'ok';
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    return error.code;
  }
}

describe('who may change a run (R6)', () => {
  it.each<[string, OwnershipFacts, RunCaller, readonly [string, string], readonly [string, string]]>([
    // Without and with --force: message and cancel; cleanup.
    ['my own, running', LIVE, ME, ['ok', 'ok'], ['run-is-live', 'run-is-live']],
    ['another’s, running', LIVE, OTHER, ['owned-by-other', 'owned-by-other'], ['run-is-live', 'run-is-live']],
    ['running, by the operator', LIVE, OPERATOR, ['owned-by-other', 'ok'], ['run-is-live', 'run-is-live']],
    ['the operator’s own', nobodys(LIVE), OPERATOR, ['ok', 'ok'], ['run-is-live', 'run-is-live']],
    ['an orphan of mine', ORPHAN, ME, ['orphan', 'ok'], ['orphan', 'ok']],
    ['an orphan of another’s', ORPHAN, OTHER, ['orphan', 'ok'], ['orphan', 'ok']],
    ['an orphan that I took over', { ...ORPHAN, adopted: true }, ME, ['ok', 'ok'], ['ok', 'ok']],
    [
      'an orphan that another took over',
      { ...ORPHAN, adopted: true },
      OTHER,
      ['orphan', 'ok'],
      ['orphan', 'ok'],
    ],
    ['my own, ended', DONE, ME, ['run-is-final', 'run-is-final'], ['ok', 'ok']],
    ['another’s, ended', DONE, OTHER, ['run-is-final', 'run-is-final'], ['owned-by-other', 'ok']],
    ['ended, by the operator', DONE, OPERATOR, ['run-is-final', 'run-is-final'], ['owned-by-other', 'ok']],
  ])('R6: %s', (_what, facts, caller, changes, cleanups) => {
    for (const mutation of ['message', 'cancel'] as const)
      expect([refusal(mutation, facts, caller, false), refusal(mutation, facts, caller, true)]).toEqual(
        changes,
      );
    expect([refusal('cleanup', facts, caller, false), refusal('cleanup', facts, caller, true)]).toEqual(
      cleanups,
    );
  });

  it('R6: a refusal names the owner', () => {
    expect(() =>
      mayMutate('cancel', { id: 'x', facts: LIVE, owner: 'session me' }, { ...OTHER, force: false }),
    ).toThrow('run x belongs to session me');
  });
});
