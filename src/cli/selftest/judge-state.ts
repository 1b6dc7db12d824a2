import { type Evidence, expectedLinks, ownedDirectories } from './evidence.ts';
import { type Row, row } from './row.ts';

/** Links of the agent directory and the home, and whose the volumes are (S2, S3, S4). */
export function judgeState({ expected, facts }: Evidence): Row[] {
  const links = expectedLinks(expected);
  const astray = [...links].flatMap(([path, target]) => {
    const found = facts.links[path] ?? null;
    return found === target ? [] : [`${path} ${found === null ? 'is no link' : `leads to ${found}`}`];
  });
  const foreign = ownedDirectories(expected).flatMap((path) => {
    const owner = facts.owners[path] ?? null;
    if (owner === null) return [`${path} is not there`];
    return owner.uid === expected.user.uid ? [] : [`${path} belongs to uid ${owner.uid}`];
  });
  return [
    row('links', astray, `${links.size} links of agent directory, home and sign-ins`),
    row('volumes', foreign, `they belong to uid ${expected.user.uid}`),
  ];
}
