/**
 * Tells a Session of the end of what it has started, once, when nothing of the model's is interrupted by it (J12, R4): of jobs, and
 * of runs. What ended while the Session was closed is told when it is opened again.
 */
import { messageOf } from '../../lib/errors.ts';
import type { ExtensionApi, SessionEntry } from '../../pi/index.ts';
import { recallTold, type Told, type ToldDetails } from './jobs/told.ts';

/** What is told: the ends of one kind of thing, each thing known by its directory. */
export interface Ends<T> {
  /** Of the messages, in the Session's entries. */
  readonly messageType: string;
  /** For a warning: `a background job`. */
  readonly what: string;
  /** Waits for it; undefined when the signal came first. */
  end(directory: string, signal: AbortSignal): Promise<T | undefined>;
  /** One for each end. */
  key(ended: T): string;
  text(ended: T): Promise<string>;
  /** It is written down elsewhere that this one was told. */
  isNoted(ended: T): boolean;
  /** Writes that down: the Session has it for sure. */
  note(ended: T): Promise<void>;
}

export interface TellingNeeds {
  readonly pi: Pick<ExtensionApi, 'sendMessage'>;
  readonly told: Told;
  readonly warn: (text: string) => void;
  /** An end begins a turn of a pi that is idle. One that always gets a prompt next must not be busy then. */
  readonly wakes: boolean;
}

export interface Telling<T> {
  /** Follows one to its end. */
  follow(directory: string): void;
  /** The tool tells the end of these itself; the returned function gives them back. */
  leaveToTool(directories: readonly string[]): () => void;
  /** The tool tells it. */
  wasTold(ended: T): void;
  /** A turn has ended: what is told in these entries is written down as told. */
  settled(entries: readonly SessionEntry[]): Promise<void>;
  close(): void;
}

export function openTelling<T>(ends: Ends<T>, { pi, told, warn, wakes }: TellingNeeds): Telling<T> {
  const closed = new AbortController();
  const followed = new Set<string>();
  const left = new Map<string, number>();
  /** Told, and maybe only in pi's queue, which a kill or an abort empties. */
  const unsure = new Map<string, T>();

  async function watch(directory: string): Promise<void> {
    try {
      const ended = await ends.end(directory, closed.signal);
      followed.delete(directory);
      if (ended !== undefined && !left.has(directory)) await tell(ended);
    } catch (error) {
      followed.delete(directory);
      if (!closed.signal.aborted) warn(`The end of ${ends.what} could not be told: ${messageOf(error)}`);
    }
  }

  async function tell(ended: T): Promise<void> {
    const key = ends.key(ended);
    if (ends.isNoted(ended)) return;
    if (!told.first(key)) {
      // By an earlier pi, which was killed before it could write that down; or by the tool, whose result is on its way.
      if (!unsure.has(key)) await ends.note(ended);
      return;
    }
    const details: ToldDetails = { told: [key] };
    const content = await ends.text(ended);
    if (closed.signal.aborted) return;
    unsure.set(key, ended);
    pi.sendMessage(
      { customType: ends.messageType, content, display: true, details },
      { triggerTurn: wakes, deliverAs: 'followUp' },
    );
  }

  return {
    follow(directory) {
      if (followed.has(directory) || closed.signal.aborted) return;
      followed.add(directory);
      void watch(directory);
    },
    leaveToTool(directories) {
      for (const each of directories) left.set(each, (left.get(each) ?? 0) + 1);
      return () => {
        for (const each of directories) {
          const count = (left.get(each) ?? 1) - 1;
          if (count === 0) left.delete(each);
          else left.set(each, count);
        }
      };
    },
    wasTold(ended) {
      told.first(ends.key(ended));
      unsure.set(ends.key(ended), ended);
    },
    async settled(entries) {
      if (unsure.size === 0) return;
      const { has } = recallTold(entries);
      for (const [key, ended] of [...unsure]) {
        if (!has(key)) continue;
        unsure.delete(key);
        await ends.note(ended);
      }
    },
    close: () => closed.abort(),
  };
}
