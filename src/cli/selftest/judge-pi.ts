import type { Evidence } from './evidence.ts';
import { type Row, row, skipped } from './row.ts';

/** That pi works in there, and its history with it (S8, S10, S11, H3), and its jobs (S16). */
export function judgePi(evidence: Evidence): Row[] {
  return [
    version(evidence),
    ...session(evidence),
    job(evidence),
    retention(evidence),
    certificates(evidence),
  ];
}

function version({ expected, facts }: Evidence): Row {
  const wanted = expected.config.PI_VERSION;
  const wrong = facts.piVersion === wanted ? [] : [`it says ${facts.piVersion || 'nothing'}, not ${wanted}`];
  return row('pi', wrong, facts.piVersion);
}

function session({ expected, facts }: Evidence): Row[] {
  const { file, lockHeld, lockFreed, present, continued, removed, problem } = facts.session;
  const written = file?.startsWith(`${expected.roots.sessions}/`) === true;
  const reasons = (holds: boolean, otherwise: string): string[] => (holds ? [] : [otherwise]);
  const history = row(
    'Session written and found',
    [
      ...reasons(written, problem ?? 'pi wrote none into the history'),
      ...reasons(!written || continued, problem ?? 'another pi did not continue it'),
      ...reasons(removed, problem ?? 'it was not removed again'),
    ],
    'written by one pi, continued by another, removed again',
  );
  if (!written) return [history, skipped('Session lock', 'no Session'), skipped('presence', 'no Session')];
  const lock = row(
    'Session lock',
    [
      ...reasons(lockHeld, 'it was free while pi had the Session open'),
      ...reasons(lockFreed, 'it was still held after pi had ended'),
    ],
    'held while pi had it open, free afterwards',
  );
  const presence = row(
    'presence',
    reasons(present, 'the supervisor did not list the Session'),
    'the supervisor saw the Session',
  );
  return [history, lock, presence];
}

function job({ facts }: Evidence): Row {
  const { done, removed, problem } = facts.job;
  const wrong = [
    ...(done ? [] : [problem ?? 'it did not end well']),
    ...(done && !removed ? [problem ?? 'it was not removed again'] : []),
  ];
  return row('background job', wrong, 'run by multi-agent to its end, removed again');
}

function retention({ expected, facts }: Evidence): Row {
  const { config, domain } = expected;
  const days = config.domains.find(({ id }) => id === domain)?.sessionsRetentionDays;
  if (days === undefined) return row('retention', [`the domain ${domain} is not configured`], '');
  const { retention: told } = facts;
  if (told === undefined) return row('retention', ['the sandbox was told nothing of it'], '');
  if (told.days !== days || told.trashDays !== config.SESSIONS_TRASH_DAYS) {
    const wrong = `the sandbox goes by ${told.days} days and ${told.trashDays} in the trash`;
    return row('retention', [wrong], '');
  }
  if (days === 0) return row('retention', [], 'Sessions are kept for ever');
  const trash = config.SESSIONS_TRASH_DAYS === 0 ? 'no trash' : `${config.SESSIONS_TRASH_DAYS} in the trash`;
  return row('retention', [], `${days} days, then ${trash}`);
}

function certificates({ expected, facts }: Evidence): Row {
  const check = 'certificates';
  const { bundled, loaded } = facts.certificates;
  if (!expected.certificates) return skipped(check, 'the host has none of its own');
  const wrong = [
    ...(bundled > 0 ? [] : ['the bundle is not there']),
    ...(loaded > 0 ? [] : ['node has not loaded it']),
  ];
  return row(check, wrong, `${bundled} trusted`);
}
