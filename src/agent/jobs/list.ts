import { listJobs } from '../../jobs/index.ts';
import { jobContext } from './context.ts';
import { type ListOptions, textOfList } from './list-text.ts';

/** The jobs of this project, the last started first; with `--watch` until Ctrl-C. */
export async function list(options: ListOptions): Promise<number> {
  const context = await jobContext();
  const listing = () => listJobs(context.place, options.allProjects ? undefined : context.project);
  if (options.watch) return (await import('./list-watch.ts')).watchList(context, listing, options);
  process.stdout.write(textOfList(context, await listing(), options));
  return 0;
}
