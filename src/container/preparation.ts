import { gitDir, npmDir, pathsOf } from '../agent-dir/index.ts';
import type { OtherConversations } from '../history/index.ts';
import { missingPackages } from '../pi/index.ts';
import type { FrameConnection, RunRequest } from '../wire/index.ts';
import { pruneBeforeStart } from './history/start-prune.ts';
import { jobConversations, jobLeftovers } from './jobs-prune.ts';
import type { Living } from './living.ts';
import { answer, refusal, tell } from './replies.ts';
import { runsSweeper } from './runs-sweep.ts';
import { type Place, SandboxState } from './sandbox-state.ts';
import { scheduleWatcher } from './schedules.ts';
import { receiveMerge } from './setup/merge-receiver.ts';
import { describeChanges, keptChanges, sessionChanges } from './setup/session-changes.ts';
import { workPruner } from './work-prune.ts';

const MINUTE_MS = 60_000;

/**
 * What has to be done before a program starts: the container's own set-up once, and for each start its configuration and
 * the retention of Sessions and of jobs (S8, S11, S14, J14); beside it that of work directories (W7)
 * and what watches schedules (R10).
 */
export class Preparation {
  /** Undefined until the first configuration has come. */
  state: SandboxState | undefined;
  private readonly settings: Place & { bare?: boolean };
  private readonly living: Living;
  private readonly isEnding: () => boolean;
  private readonly others: readonly OtherConversations[];
  private readonly besides: readonly (() => void)[];
  private readonly watchSchedules: (environment: NodeJS.ProcessEnv) => void;
  /** Set-up and merges happen one after the other, however many starts come at once. */
  private preparing: Promise<void> = Promise.resolve();

  constructor(settings: Place & { bare?: boolean }, living: Living, isEnding: () => boolean) {
    this.settings = settings;
    this.living = living;
    this.isEnding = isEnding;
    const { roots, clock } = settings;
    const note = (event: string, facts: Record<string, unknown>): void => this.state?.log.write(event, facts);
    const jobs = {
      roots,
      clock,
      note,
      project: process.env.PI_SANDBOX_PROJECT,
      host: () => this.state?.merge.config.name ?? '',
    };
    this.others = [jobConversations(jobs)];
    this.besides = [workPruner({ roots, clock, note }), jobLeftovers(jobs), runsSweeper(jobs)];
    this.watchSchedules = scheduleWatcher(jobs);
  }

  /** The entrypoint's work: the per-container part once, the merge with every start that brings one. */
  async prepare(connection: FrameConnection, request: RunRequest): Promise<void> {
    if (request.merge === undefined) {
      if (this.state === undefined && this.settings.bare !== true)
        throw new Error('the first request of a sandbox must bring its configuration');
      return;
    }
    const tar = await receiveMerge(connection, request.merge);
    const turn = this.preparing.then(() => this.publish(connection, tar, request));
    this.preparing = turn.catch(() => undefined);
    await turn;
    await this.prune(connection, request);
    if (this.state === undefined) return;
    for (const begin of this.besides) begin();
    this.watchSchedules({ ...this.environment(), ...request.environment });
  }

  private async publish(
    connection: FrameConnection,
    tar: Buffer,
    { merge, oldHistoryTried = false, oldHistoryClosed = false }: RunRequest,
  ): Promise<void> {
    const sha256 = merge?.sha256 ?? '';
    if (this.isEnding()) return;
    if (this.state === undefined) {
      this.state = await SandboxState.setUp(this.settings, tar, sha256, {
        oldHistoryTried,
        oldHistoryClosed,
      });
    } else {
      await this.tellChanges(connection);
      const replaced = await this.state.replaceMerge(tar, sha256);
      const others = this.living.list().filter(({ kind }) => kind === 'session').length;
      if (replaced && others > 0) {
        const text = `the configuration has changed; ${others} running session(s) keep what they read`;
        tell(connection, 'info', text);
      }
    }
    this.living.setIdle(this.state.merge.config.idleStopMinutes * MINUTE_MS);
  }

  /** With every start, whatever it starts: pi, a shell, or a command (S11). */
  private async prune(connection: FrameConnection, request: RunRequest): Promise<void> {
    if (this.state === undefined || this.isEnding()) return;
    const { roots, clock } = this.settings;
    const { config } = this.state.merge;
    await pruneBeforeStart(
      {
        roots,
        config,
        clock,
        others: this.others,
        note: (event, facts) => this.state?.log.write(event, facts),
      },
      connection,
      request,
    );
  }

  /** pi installs what is missing, and only then has business on the network beside the model's (S8). */
  environment(): Record<string, string> {
    const sources = this.state?.merge.config.packages ?? [];
    const { agent } = pathsOf(this.settings.roots);
    const missing = missingPackages({ npm: npmDir(agent), git: gitDir(agent) }, sources);
    return missing.length === 0 ? { PI_OFFLINE: '1' } : {};
  }

  /** Answers which changes there are, with their values (S8). */
  async answerChanges(connection: FrameConnection): Promise<void> {
    try {
      const { state } = this;
      const value = state === undefined ? [] : await keptChanges(this.settings.roots, state.merge);
      await answer(connection, { answer: 'accepted', value });
    } catch (error) {
      await answer(connection, refusal(error));
    }
  }

  /** Says in a line what sessions have changed since the merge was published (S8). */
  async tellChanges(connection: FrameConnection): Promise<void> {
    if (this.state === undefined) return;
    const line = describeChanges(await sessionChanges(this.settings.roots, this.state.merge));
    if (line === undefined) return;
    this.state.log.write('configuration-changed', { what: line });
    tell(connection, 'info', line);
  }
}
