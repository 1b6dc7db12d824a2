/** `/jobs`: the screen, and what the user does there to a job (J12). Loaded when it is first called. */
import { askJob } from '../../../jobs/index.ts';
import { systemClock } from '../../../lib/clock.ts';
import { messageOf, PiSandboxError } from '../../../lib/errors.ts';
import type { CommandContext } from '../../../pi/index.ts';
import { type Feed, openFeed } from './feed.ts';
import type { JobsHere } from './here.ts';
import type { ScreenWish } from './screen.ts';

export async function jobsCommand(here: JobsHere, context: CommandContext): Promise<void> {
  if (context.mode !== 'tui') {
    context.ui.notify('/jobs needs a terminal; multi-agent list is for programs', 'warning');
    return;
  }
  const { jobsScreen } = await import('./screen.ts');
  let redraw = (): void => {};
  const feed = await openFeed(here, systemClock, () => redraw());
  try {
    for (let selected: string | undefined; ; ) {
      const wish: ScreenWish = await context.ui.custom((tui, ...more) => {
        redraw = () => tui.requestRender();
        return jobsScreen(feed, selected)(tui, ...more);
      });
      redraw = () => {};
      if (wish.kind === 'close') return;
      selected = wish.name;
      await grant(wish, { here, context, feed });
    }
  } finally {
    feed.close();
  }
}

type Wanted = Exclude<ScreenWish, { kind: 'close' }>;
interface Granting {
  here: JobsHere;
  context: CommandContext;
  feed: Feed;
}

async function grant({ kind, name }: Wanted, { here, context, feed }: Granting): Promise<void> {
  const { ui } = context;
  const job = feed.find(name);
  if (job === undefined) return;
  try {
    if (kind === 'abort') {
      if (!(await ui.confirm(`Abort ${name}?`, 'Its turn is stopped; the conversation is kept.'))) return;
      // Its end is seen on the screen: it need not be waited for.
      void askJob(here.place, job.directory, { op: 'abort' }).catch(() => {});
      return;
    }
    const text = await ui.input(kind === 'steer' ? `Steer ${name}` : `Answer ${name}`);
    if (text === undefined || text.trim() === '') return;
    const request =
      kind === 'steer' ? ({ op: 'steer', text } as const) : ({ op: 'answer', value: text } as const);
    const answer = await askJob(here.place, job.directory, request);
    if (!answer.ok) ui.notify(`${name}: ${answer.error.message}`, 'warning');
  } catch (error) {
    if (!(error instanceof PiSandboxError)) throw error;
    ui.notify(messageOf(error), 'warning');
  }
}
