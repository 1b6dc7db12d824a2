import { listJobs, removeJob, removing } from '../../jobs/index.ts';
import { messageOf, PiSandboxError, UsageError } from '../../lib/errors.ts';
import { jsonText } from '../../lib/json-text.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { bytes } from '../../lib/table.ts';
import { jobContext, jobNamed } from './context.ts';

/** Removes jobs that have ended, each with its conversation; exit code 1 when one stays. */
export async function rm(names: readonly string[], { json = false }: { json?: boolean }): Promise<number> {
  const context = await jobContext();
  const { place, project, deps, caller } = context;
  const removed: object[] = [];
  const failed: { name: string; reason: string; hint: string | undefined }[] = [];
  await removing(place, deps, async () => {
    for (const name of new Set(names)) {
      try {
        const { directory } = await jobNamed(context, name);
        if (directory === caller.parent?.directory)
          throw new UsageError('an agent cannot remove its own job');
        const { jobs } = await listJobs(place, project);
        const gone = await removeJob(place, directory, 'asked', { ...deps, jobs });
        removed.push({ name, ...gone });
        if (!json) process.stdout.write(`removed ${name} (${bytes(gone.bytes)})\n`);
      } catch (error) {
        if (!(error instanceof PiSandboxError)) throw error;
        failed.push({ name, reason: messageOf(error), hint: error.hint });
      }
    }
  });
  if (json) process.stdout.write(`${jsonText({ version: 1, removed, failed }, 2)}\n`);
  for (const { reason, hint } of json ? [] : failed) {
    process.stderr.write(
      `multi-agent: ${safeForTerminal(reason)}\n${hint === undefined ? '' : `  ${hint}\n`}`,
    );
  }
  return failed.length > 0 ? 1 : 0;
}
