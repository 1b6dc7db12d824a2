/**
 * The screen of `/jobs` (J12): a live list, and the last lines of the job that is looked at. It draws and says what the
 * user wants done; doing it is the caller's. The only file that brings pi's terminal library along, loaded when the
 * screen is first opened.
 */
import { truncateToWidth } from '@earendil-works/pi-tui';
import { safeForTerminal } from '../../../lib/redact.ts';
import type { CustomScreen, ScreenTheme } from '../../../pi/index.ts';

export interface ScreenJob {
  readonly name: string;
  readonly status: string;
  /** For people: how long it has been so, what it is doing. */
  readonly detail: string;
}

/** What is shown, as it is now; whoever changes it asks for a new frame. */
export interface ScreenFacts {
  jobs(): readonly ScreenJob[];
  /** The last lines of one job's progress. */
  lines(name: string): readonly string[];
  /** The user looks at this job now, or at none. */
  look(name: string | undefined): void;
}

export type ScreenWish =
  | { readonly kind: 'close' }
  | { readonly kind: 'steer' | 'abort' | 'answer'; readonly name: string };

const MOST_ROWS = 12;
const MOST_LINES = 14;

const COLOURS: Readonly<Record<string, string>> = {
  starting: 'muted',
  running: 'accent',
  waiting: 'warning',
  done: 'success',
  failed: 'error',
  died: 'error',
  'timed-out': 'error',
  killed: 'warning',
  aborted: 'warning',
};

/** @param selected the job to begin with, so that the list comes back as it was left */
export function jobsScreen(facts: ScreenFacts, selected: string | undefined): CustomScreen<ScreenWish> {
  return (tui, theme, keys, done) => {
    let at = Math.max(
      0,
      facts.jobs().findIndex(({ name }) => name === selected),
    );
    let looking = false;

    const current = (): ScreenJob | undefined => facts.jobs()[Math.min(at, facts.jobs().length - 1)];

    function move(by: number): void {
      const { length } = facts.jobs();
      if (length > 0) at = (Math.min(at, length - 1) + by + length) % length;
      if (looking) facts.look(current()?.name);
    }

    function look(wanted: boolean): void {
      looking = wanted;
      facts.look(wanted ? current()?.name : undefined);
    }

    function press(key: Key): void {
      const name = current()?.name;
      if (key === 'up') move(-1);
      else if (key === 'down') move(1);
      else if (key === 'cancel' && looking) look(false);
      else if (key === 'cancel') done({ kind: 'close' });
      else if (name !== undefined && key === 'confirm') look(!looking);
      else if (name !== undefined && key !== 'confirm') done({ kind: key, name });
    }

    return {
      render: (width) =>
        frame(facts, { at, job: current(), looking }, theme).map((line) => truncateToWidth(line, width)),
      handleInput(data) {
        const key = keyOf(data, keys);
        if (key === undefined) return;
        press(key);
        tui.requestRender();
      },
      invalidate() {},
    };
  };
}

type Key = 'up' | 'down' | 'confirm' | 'cancel' | 'steer' | 'abort' | 'answer';

const LETTERS: Readonly<Record<string, Key>> = {
  k: 'up',
  j: 'down',
  q: 'cancel',
  s: 'steer',
  a: 'abort',
  r: 'answer',
};

function keyOf(data: string, keys: Parameters<CustomScreen<ScreenWish>>[2]): Key | undefined {
  const known = (['up', 'down', 'confirm', 'cancel'] as const).find((key) =>
    keys.matches(data, `tui.select.${key}`),
  );
  return known ?? LETTERS[data];
}

interface Look {
  at: number;
  job: ScreenJob | undefined;
  looking: boolean;
}

function frame(facts: ScreenFacts, { at, job, looking }: Look, theme: ScreenTheme): string[] {
  const jobs = facts.jobs();
  if (jobs.length === 0) {
    return [
      theme.fg('accent', 'Background jobs'),
      'There are none in this project.',
      theme.fg('dim', 'esc closes'),
    ];
  }
  const first = Math.max(0, Math.min(at - MOST_ROWS + 1, jobs.length - MOST_ROWS));
  const shown = jobs.slice(first, first + MOST_ROWS);
  const widest = Math.max(...shown.map(({ name }) => name.length));
  const rows = shown.map((each) => {
    const mark = each.name === job?.name ? theme.fg('accent', '› ') : '  ';
    const status = theme.fg(COLOURS[each.status] ?? 'text', each.status.padEnd(9));
    return `${mark}${each.name.padEnd(widest)}  ${status}  ${theme.fg('muted', safeForTerminal(each.detail))}`;
  });
  const hidden = jobs.length - shown.length;
  const more = hidden > 0 ? [theme.fg('dim', `  and ${hidden} more`)] : [];
  const lines = looking && job ? facts.lines(job.name).slice(-MOST_LINES) : [];
  const peek = lines.map((line) => theme.fg('muted', `  │ ${safeForTerminal(line)}`));
  const keys = '↑↓ choose · enter peek · s steer · a abort · r answer · esc close';
  return [theme.fg('accent', 'Background jobs'), ...rows, ...more, ...peek, theme.fg('dim', keys)];
}
