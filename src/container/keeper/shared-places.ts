import { type FSWatcher, lstatSync, mkdirSync, watch } from 'node:fs';
import { pathsOf, type Roots, SHARED_AGENT_NAMES } from '../../agent-dir/index.ts';
import { hasCode, messageOf } from '../../lib/errors.ts';
import { removeLink } from '../setup/place-link.ts';
import { inRealDirectory } from '../setup/real-directory.ts';

/** What somebody who plants links without end costs us at most: one look in this time. */
const PAUSE_MS = 20;

/**
 * Keeps links out of the shared agent directory's places while the sandbox runs, as a start does before (S4, S5): one
 * that another domain planted there would let it choose the file of ours that a login is written to.
 */
export class SharedPlaces {
  private readonly roots: Roots;
  private readonly report: (problem: string) => void;
  private readonly told = new Set<string>();
  private watcher: FSWatcher | undefined;
  private pause: NodeJS.Timeout | undefined;
  private again = false;

  constructor(roots: Roots, report: (problem: string) => void) {
    this.roots = roots;
    this.report = report;
  }

  start(): void {
    try {
      this.watcher = watch(pathsOf(this.roots).sharedAgent, { persistent: false }, (_event, name) => {
        if (name !== null && SHARED_AGENT_NAMES.includes(name)) this.soon();
      });
      this.watcher.on('error', (error) => this.tell(messageOf(error)));
    } catch (error) {
      this.tell(messageOf(error));
    }
    this.look();
  }

  stop(): void {
    this.watcher?.close();
    clearTimeout(this.pause);
  }

  /** At once, unless a look was just taken: then when the pause is over. */
  private soon(): void {
    if (this.pause !== undefined) this.again = true;
    else this.look();
  }

  private look(): void {
    this.again = false;
    try {
      inRealDirectory(this.roots.shared, pathsOf(this.roots).sharedAgent, (directory) =>
        this.clear(directory),
      );
    } catch (error) {
      this.tell(messageOf(error));
    }
    this.pause = setTimeout(() => {
      this.pause = undefined;
      if (this.again) this.look();
    }, PAUSE_MS);
    this.pause.unref();
  }

  private clear(directory: string): void {
    for (const name of SHARED_AGENT_NAMES) {
      const path = `${directory}/${name}`;
      if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() || !removeLink(path)) continue;
      // pi makes its files through a link that leads to nothing, but no folder.
      if (!name.endsWith('.json')) makeDirectory(path);
      this.tell(`${name} in the shared agent directory was a link and has been removed`);
    }
  }

  private tell(problem: string): void {
    if (!this.told.has(problem)) this.report(problem);
    this.told.add(problem);
  }
}

function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  }
}
