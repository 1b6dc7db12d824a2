import { type FSWatcher, lstatSync, mkdirSync, readlinkSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { cacheLinks, pathsOf, type Roots, SHARED_AGENT_NAMES } from '../../agent-dir/index.ts';
import { hasCode, messageOf } from '../../lib/errors.ts';
import { placeLink, removeLink } from '../setup/place-link.ts';
import { inRealDirectory } from '../setup/real-directory.ts';

/** What somebody who plants things without end costs us at most: one look at each place in this time. */
const PAUSE_MS = 20;

/** A folder of the shared volume in which something has to stay as a start has made it. */
interface Place {
  readonly directory: string;
  readonly names: readonly string[];
  /** Mends what is wrong at a real path of the directory; says what it was. */
  mend(directory: string): string[];
}

/**
 * Keeps the shared volume's places as a start makes them, for as long as the sandbox runs. A link that another domain
 * planted in the agent directory would let it choose the file of ours that a login is written to (S4); a folder in the
 * place of a cache that is the domain's own would take the domain's words (S5).
 */
export class SharedPlaces {
  private readonly report: (problem: string) => void;
  private readonly keepers: PlaceKeeper[];
  private readonly told = new Set<string>();

  constructor(roots: Roots, report: (problem: string) => void) {
    this.report = report;
    this.keepers = [agentPlace(roots), cachePlace(roots)].map(
      (place) => new PlaceKeeper(roots.shared, place, (problem) => this.tell(problem)),
    );
  }

  start(): void {
    for (const keeper of this.keepers) keeper.soon();
  }

  stop(): void {
    for (const keeper of this.keepers) keeper.stop();
  }

  private tell(problem: string): void {
    if (!this.told.has(problem)) this.report(problem);
    this.told.add(problem);
  }
}

function agentPlace(roots: Roots): Place {
  return {
    directory: pathsOf(roots).sharedAgent,
    names: SHARED_AGENT_NAMES,
    mend: (directory) =>
      SHARED_AGENT_NAMES.flatMap((name) => {
        const path = `${directory}/${name}`;
        if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() || !removeLink(path)) return [];
        // pi makes its files through a link that leads to nothing, but no folder.
        if (!name.endsWith('.json')) makeDirectory(path);
        return [`${name} in the shared agent directory was a link and has been removed`];
      }),
  };
}

function cachePlace(roots: Roots): Place {
  const links = cacheLinks(roots).map(({ name, target }) => ({ name: basename(name), target }));
  return {
    directory: `${roots.shared}/.cache`,
    names: links.map(({ name }) => name),
    mend: (directory) =>
      links.flatMap(({ name, target }) => {
        const path = `${directory}/${name}`;
        if (readLink(path) === target) return [];
        const stood = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
        placeLink(path, target);
        return !stood ? [] : [`${name} in the shared cache was not a link to the domain's own and is again`];
      }),
  };
}

/** Looks at one place whenever something happens there, or to a folder on the way to it. */
class PlaceKeeper {
  private readonly root: string;
  private readonly place: Place;
  private readonly tell: (problem: string) => void;
  private watchers: FSWatcher[] = [];
  private pause: NodeJS.Timeout | undefined;
  private again = false;
  /** A folder on the way may be another one now, which nobody watches yet. */
  private moved = true;

  constructor(root: string, place: Place, tell: (problem: string) => void) {
    this.root = root;
    this.place = place;
    this.tell = tell;
  }

  /** At once, unless a look was just taken: then when the pause is over. */
  soon(): void {
    if (this.pause !== undefined) this.again = true;
    else this.look();
  }

  stop(): void {
    for (const watcher of this.watchers) watcher.close();
    clearTimeout(this.pause);
  }

  private look(): void {
    this.again = false;
    this.mend();
    if (this.moved) {
      this.moved = false;
      this.watchAll();
      // What came before somebody watched.
      this.mend();
    }
    this.pause = setTimeout(() => {
      this.pause = undefined;
      if (this.again) this.look();
    }, PAUSE_MS);
    this.pause.unref();
  }

  private mend(): void {
    try {
      const { directory, mend } = this.place;
      for (const problem of inRealDirectory(this.root, directory, mend)) this.tell(problem);
    } catch (error) {
      this.tell(messageOf(error));
    }
  }

  /** The place itself, and in each folder above it the name that leads to it. */
  private watchAll(): void {
    for (const watcher of this.watchers.splice(0)) watcher.close();
    const { directory, names } = this.place;
    this.watch(directory, names, () => this.soon());
    for (let path = directory; path !== this.root; path = dirname(path)) {
      this.watch(dirname(path), [basename(path)], (event) => {
        if (event !== 'rename') return;
        this.moved = true;
        this.soon();
      });
    }
  }

  private watch(directory: string, names: readonly string[], happened: (event: string) => void): void {
    try {
      const watcher = watch(directory, { persistent: false }, (event, name) => {
        if (name !== null && names.includes(name)) happened(event);
      });
      watcher.on('error', (error) => this.tell(messageOf(error)));
      this.watchers.push(watcher);
    } catch (error) {
      this.tell(messageOf(error));
    }
  }
}

function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'EINVAL')) return undefined;
    throw error;
  }
}

function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  }
}
