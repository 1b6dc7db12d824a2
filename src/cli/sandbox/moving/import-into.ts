/** Carries out a plan: into the volumes through helper containers, into the configuration directly (S15). */
import { mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { ArrivalReport, sessionsOfDomain } from '../../../history/index.ts';
import { openDirectory } from '../../../lib/directory-handle.ts';
import { OperationError } from '../../../lib/errors.ts';
import { bytes } from '../../../lib/table.ts';
import type { SignInOutcome, SignIns } from '../../../wire/index.ts';
import { type Config, DomainId } from '../../config/index.ts';
import { progressLine } from '../../ui/progress.ts';
import { volumeNames } from '../names.ts';
import { createVolumes } from '../volumes.ts';
import { type PutFile, putConfig } from './config-files.ts';
import { askVolume, type MovingScene } from './helper.ts';
import type { ImportPlan } from './plan.ts';
import { DOMAIN_SIGN_IN } from './sign-in-files.ts';

export interface ImportScene extends MovingScene {
  readonly user: { uid: number; gid: number };
}

export interface ImportResult {
  readonly history: { domain: string; report: ArrivalReport }[];
  readonly signIns: SignInOutcome[];
  readonly config: PutFile[];
}

/** One domain after the other, so that a container never sees two. What has come over stays when the rest fails. */
export async function carryOut(
  scene: ImportScene,
  plan: ImportPlan,
  { replaceLogin }: { replaceLogin: boolean },
): Promise<ImportResult> {
  const history: ImportResult['history'] = [];
  const ready = new Set<DomainId>();
  const prepared = async (id: string): Promise<ReturnType<typeof volumeNames>> => {
    const domain = DomainId.parse(id);
    const volumes = volumeNames(scene.config.INSTALLATION_PREFIX, domain);
    if (!ready.has(domain)) await createVolumes(scene.engine, { ...scene, domain, volumes }, scene.image);
    ready.add(domain);
    return volumes;
  };
  for (const [domain, count] of plan.history?.survey.domains ?? []) {
    const { sessions } = await prepared(domain);
    history.push({ domain, report: await sessionsInto(scene, plan, domain, sessions, count) });
  }
  const signIns = await signInsInto(scene, plan, prepared, replaceLogin);
  const config = plan.config === undefined ? [] : configInto(scene.config, plan.config.files);
  return { history, signIns, config };
}

async function sessionsInto(
  scene: ImportScene,
  { history }: ImportPlan,
  domain: string,
  volume: string,
  count: { count: number; bytes: number },
): Promise<ArrivalReport> {
  if (history === undefined) throw new OperationError('there is no history to import');
  const tar = await sessionsOfDomain(history.sources, history.table, domain);
  const progress = progressLine(`copying ${count.count} Session(s) into domain ${domain}`);
  let sent = 0;
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    for await (const piece of tar) {
      sent += piece.length;
      progress.show(`${bytes(sent)} of ${bytes(count.bytes)}`);
      yield piece;
    }
  };
  try {
    const answer = await askVolume(scene, volume, { verb: 'receive-sessions' }, counted());
    const report = answer.step === 'received' ? ArrivalReport.safeParse(answer.report).data : undefined;
    if (report === undefined) throw new OperationError('a helper container did not answer in its form');
    progress.done();
    return report;
  } catch (error) {
    progress.pause();
    throw error;
  } finally {
    tar.destroy();
  }
}

async function signInsInto(
  scene: ImportScene,
  { login, history }: ImportPlan,
  prepared: (domain: string) => Promise<ReturnType<typeof volumeNames>>,
  replace: boolean,
): Promise<SignInOutcome[]> {
  if (login === undefined) return [];
  const { [DOMAIN_SIGN_IN]: own, ...shared } = login.content;
  const outcomes: SignInOutcome[] = [];
  // The shared volume is made with a domain's: with the one that has something to come anyway.
  const [first] = history?.survey.domains.keys() ?? [];
  const domain = login.domain ?? first ?? scene.config.DEFAULT_DOMAIN ?? scene.config.domains[0]?.id;
  if (domain === undefined) return [];
  for (const [volume, content] of [
    ['agentState', shared],
    ['domainState', own === undefined ? {} : { [DOMAIN_SIGN_IN]: own }],
  ] as const) {
    if (Object.keys(content).length === 0) continue;
    outcomes.push(...(await give(scene, (await prepared(domain))[volume], content, replace)));
  }
  return outcomes;
}

async function give(
  scene: ImportScene,
  volume: string,
  content: SignIns,
  replace: boolean,
): Promise<SignInOutcome[]> {
  const input = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from(JSON.stringify(content));
  };
  const answer = await askVolume(scene, volume, { verb: 'receive-sign-ins', replace }, input());
  if (answer.step !== 'sign-ins-received')
    throw new OperationError('a helper container did not answer in its form');
  return answer.outcomes;
}

function configInto(config: Config, files: Parameters<typeof putConfig>[1]): PutFile[] {
  if (files.length === 0) return [];
  const path = join(config.directory, 'config');
  mkdirSync(path, { recursive: true, mode: 0o700 });
  // A directory of the user's own, which may be a link into a repository of dotfiles.
  const top = openDirectory(realpathSync(path));
  try {
    return putConfig(top, files);
  } finally {
    top.close();
  }
}
