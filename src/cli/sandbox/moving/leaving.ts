/** What an export would write for a plain pi, and the writing (S15). What a volume holds is hostile (rule 8). */
import { chownSync, existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { type AgentDir, agentDirAt, sessionsDir } from '../../../agent-dir/index.ts';
import { type ArrivalReport, openArrival, receiveSessions } from '../../../history/index.ts';
import { makeStateDirectory } from '../../../lib/atomic-file.ts';
import { type DirectoryHandle, openDirectory } from '../../../lib/directory-handle.ts';
import { hasCode, OperationError } from '../../../lib/errors.ts';
import type { SignIns } from '../../../wire/index.ts';
import type { Config } from '../../config/index.ts';
import type { DomainHistory } from '../history-domains.ts';
import { askHistories, bytesOfHistory, type HistoryScene } from '../history-program.ts';
import { volumeOfName } from '../names.ts';
import { type ConfigFile, collectConfig, type LeftFile, type PutFile, putConfig } from './config-files.ts';
import { askVolume } from './helper.ts';
import { harmlessLogin } from './leaving-login.ts';
import type { Chosen } from './plan.ts';
import { putNewFile } from './put-new-file.ts';

/** A Session may have grown since it was counted. */
const ROOM_BYTES = 64 * 1024 * 1024;

export interface ExportPlan {
  readonly to: string;
  readonly histories: { history: DomainHistory; count: number; bytes: number }[];
  readonly signIns: SignIns;
  readonly config: readonly ConfigFile[];
  readonly left: readonly LeftFile[];
}

export async function planExport(
  scene: HistoryScene,
  domains: readonly DomainHistory[],
  wanted: Chosen,
  to: string,
): Promise<ExportPlan> {
  const left: LeftFile[] = [];
  const histories = wanted.history ? await countHistories(scene, domains) : [];
  const signIns = wanted.login ? await signInsFrom(scene, domains, left) : {};
  const config = wanted.config ? globalConfig(scene.config, left) : [];
  return { to, histories, signIns, config, left };
}

async function countHistories(
  scene: HistoryScene,
  domains: readonly DomainHistory[],
): Promise<ExportPlan['histories']> {
  const retention = { days: 0, trashDays: 0 };
  const answers = await askHistories(scene, domains, () => {
    return { verb: 'list', retention, sessions: false, trash: false };
  });
  return answers.flatMap(({ history, lines, failed }) => {
    if (failed !== undefined)
      throw new OperationError(`${history.domain}: ${failed.message}`, { hint: failed.hint });
    const summary = lines.find((line) => line.type === 'summary');
    if (summary === undefined || summary.count === 0) return [];
    return [{ history, count: summary.count, bytes: summary.bytes }];
  });
}

async function signInsFrom(
  scene: HistoryScene,
  domains: readonly DomainHistory[],
  left: LeftFile[],
): Promise<SignIns> {
  const { engine, config } = scene;
  const prefix = config.INSTALLATION_PREFIX;
  const volumes = await engine.volumes.list({ namePrefix: prefix });
  const shared = volumes.find(({ name }) => volumeOfName(prefix, name)?.role === 'agent-state')?.name;
  const [only, ...others] = domains;
  const own = others.length === 0 ? only?.domainState : undefined;
  const found: SignIns = {};
  for (const [volume, name] of [
    [shared, 'auth.json'],
    [own, 'mcp-auth.json'],
  ] as const) {
    if (volume === undefined) continue;
    const moving = { engine, config, image: scene.image() };
    const answer = await askVolume(moving, volume, { verb: 'send-sign-ins', names: [name] });
    if (answer.step !== 'sign-ins') throw new OperationError('a helper container did not answer in its form');
    const content = answer.content[name];
    left.push(...answer.problems.map(({ name: file, reason }) => ({ file, reason })));
    if (content === undefined) continue;
    const harmless = name === 'auth.json' ? harmlessLogin(content) : { content, left: [] };
    left.push(...harmless.left);
    if (harmless.content !== undefined) found[name] = harmless.content;
  }
  return found;
}

/** The user's own files; a domain's lie beside them and stay. */
function globalConfig(config: Config, left: LeftFile[]): ConfigFile[] {
  const path = join(config.directory, 'config');
  if (!existsSync(path)) return [];
  const top = openDirectory(realpathSync(path));
  try {
    const found = collectConfig(top);
    left.push(...found.left);
    if (existsSync(join(path, 'domains')))
      left.push({ file: 'config/domains', reason: 'what only one domain has is no part of a plain pi' });
    return found.files;
  } finally {
    top.close();
  }
}

export interface ExportResult {
  readonly history: { domain: string; report: ArrivalReport }[];
  readonly files: PutFile[];
}

/** @throws OperationError, FileError; what was written before stays, and the next call does the rest */
export async function carryOutExport(scene: HistoryScene, plan: ExportPlan): Promise<ExportResult> {
  const path = await targetDirectory(plan.to);
  const top = openDirectory(path);
  try {
    const history: ExportResult['history'] = [];
    for (const { history: from, bytes } of plan.histories) {
      history.push({ domain: from.domain, report: await sessionsOf(scene, from, path, bytes + ROOM_BYTES) });
    }
    return { history, files: [...signInsTo(top, plan.signIns), ...putConfig(top, plan.config)] };
  } finally {
    top.close();
  }
}

async function sessionsOf(
  scene: HistoryScene,
  from: DomainHistory,
  path: AgentDir,
  maxBytes: number,
): Promise<ArrivalReport> {
  const destination = openArrival(await sessionsDirectory(path));
  try {
    let report: ArrivalReport | undefined;
    await bytesOfHistory(scene, from, { verb: 'export-all', trash: false }, async (bytes) => {
      report = await receiveSessions(Readable.from(bytes), destination, { word: 'exported', maxBytes });
    });
    if (report === undefined) throw new OperationError(`the history of ${from.domain} did not come`);
    return report;
  } finally {
    destination.close();
  }
}

function signInsTo(top: DirectoryHandle, signIns: SignIns): PutFile[] {
  return Object.entries(signIns).map(([file, content = '']) => {
    return { file, ...putNewFile(top, file, Buffer.from(content), 0o600) };
  });
}

/** What the user named, made where it is missing; links in that path are the user's own words. */
async function targetDirectory(to: string): Promise<AgentDir> {
  await makeOwned(to);
  return agentDirAt(realpathSync(to));
}

async function sessionsDirectory(path: AgentDir): Promise<string> {
  const sessions = sessionsDir(path);
  await makeOwned(sessions);
  return sessions;
}

/** 0700, and of the owner of the directory around it when root makes it. */
async function makeOwned(path: string): Promise<void> {
  const missing: string[] = [];
  let around = path;
  for (; !existsSync(around) && dirname(around) !== around; around = dirname(around)) missing.unshift(around);
  try {
    await makeStateDirectory(path);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  }
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(around);
  for (const made of missing) chownSync(made, uid, gid);
}
