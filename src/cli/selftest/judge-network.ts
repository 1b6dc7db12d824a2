import type { Evidence } from './evidence.ts';
import { type Row, row, skipped } from './row.ts';

/** Ends of a connection that mean that nobody was reached: silence, or a router that says so. */
const CUT_OFF = ['silence', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'EACCES', 'EPERM'];

/** Which networks the sandbox is on, and whom it reaches there (S17). */
export function judgeNetwork(evidence: Evidence): Row[] {
  return [policy(evidence), isolation(evidence), names(evidence)];
}

function policy({ engine, expected, facts }: Evidence): Row {
  const check = 'network policy';
  const beyondLoopback = facts.interfaces.filter((name) => name !== 'lo');
  if (engine.networkMode === 'none') {
    const wrong = beyondLoopback.map((name) => `there is an interface ${name}`);
    return row(check, wrong, 'none: loopback only');
  }
  const foreign = engine.networks.filter((name) => !engine.ownNetworks.includes(name));
  const wrong = foreign.map((name) => `it is on the network ${name}`);
  if (beyondLoopback.length !== engine.networks.length)
    wrong.push(`interfaces: ${facts.interfaces.join(', ') || 'none'}`);
  const now = expected.config.NETWORK === 'open' ? '' : '; a new sandbox would get none';
  return row(check, wrong, `open, on ${engine.networks.join(', ')}${now}`);
}

function isolation({ engine, facts }: Evidence): Row {
  const check = 'other sandboxes';
  const addresses = engine.otherSandboxes;
  if (addresses.length === 0) return skipped(check, 'no other sandbox with a network runs');
  const wrong = addresses.flatMap((address) => {
    const end = facts.connections[address];
    return end !== undefined && CUT_OFF.includes(end) ? [] : [`${address} answers (${end ?? 'not tried'})`];
  });
  return row(check, wrong, `${addresses.length} address(es), none reached`);
}

function names({ engine, facts }: Evidence): Row {
  const check = 'names';
  if (engine.networkMode === 'none') return skipped(check, 'there is no network to ask');
  const { servers, answer } = facts.resolver;
  const from = servers.join(', ') || 'no resolver';
  if (answer === 'answers') return row(check, [], `${from} answers`);
  // There the host's own is asked; a machine without Internet has no resolver that answers; that is no fault of the sandbox.
  if (engine.podman) return skipped(check, `${from} does not answer (${answer}): is the host online?`);
  return row(check, [`${from}, the engine's own, does not answer (${answer})`], '');
}
