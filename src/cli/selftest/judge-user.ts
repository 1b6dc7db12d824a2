import { pathsOf } from '../../agent-dir/index.ts';
import type { Evidence } from './evidence.ts';
import { type Row, row } from './row.ts';

/** Who runs in there, and that nobody there can become more (S2, S17). */
export function judgeUser(evidence: Evidence): Row[] {
  return [user(evidence), capabilities(evidence), newPrivileges(evidence), seccomp(evidence)];
}

function user({ expected, engine, facts }: Evidence): Row {
  const { uid, gid } = expected.user;
  const seen = facts.user;
  const home = pathsOf(expected.roots).home;
  const wrong = [
    ...(seen.name === 'pi' ? [] : [`the name is ${seen.name === '' ? 'missing' : seen.name}, not pi`]),
    ...(seen.uid === uid && seen.gid === gid ? [] : [`it is ${seen.uid}:${seen.gid}, not ${uid}:${gid}`]),
    ...(seen.home === home ? [] : [`its home is ${seen.home}, not ${home}`]),
    ...(engine.user === `${uid}:${gid}` ? [] : [`the engine runs it as ${engine.user || 'root'}`]),
  ];
  const others = seen.groups.filter((group) => group !== gid);
  if (others.length > 0) wrong.push(`supplementary groups: ${others.join(', ')}`);
  return row('user and groups', wrong, `pi, ${uid}:${gid}, no other group`);
}

function capabilities({ engine, facts }: Evidence): Row {
  const wrong = Object.entries(facts.process.capabilities)
    .filter(([, mask]) => !/^0+$/.test(mask))
    .map(([set, mask]) => `${set} is ${mask === '' ? 'not to be seen' : mask}`);
  if (engine.capabilitiesAdded.length > 0) wrong.push(`added: ${engine.capabilitiesAdded.join(', ')}`);
  if (engine.privileged) wrong.push('the container is privileged');
  if (engine.devices > 0) wrong.push(`${engine.devices} device(s) of the host`);
  return row('no capabilities', wrong, 'all five sets are empty');
}

function newPrivileges({ facts }: Evidence): Row {
  const seen = facts.process.noNewPrivileges;
  return row('no new privileges', seen === '1' ? [] : [`NoNewPrivs is ${seen || 'not to be seen'}`], 'set');
}

function seccomp({ engine, facts }: Evidence): Row {
  const wrong = facts.process.seccomp === '2' ? [] : [`mode ${facts.process.seccomp || 'unknown'}, not 2`];
  const unconfined = engine.securityOptions.filter((option) => /unconfined/.test(option));
  return row('seccomp', [...wrong, ...unconfined], 'filter mode');
}
