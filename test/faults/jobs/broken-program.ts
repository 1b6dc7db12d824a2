/**
 * Loaded into `multi-agent` and its runner before their own code (`--import`): whichever of them is meant has its file
 * system broken. Says at its end how many calls there were, into a file, for a runner has no other way.
 */
import { appendFileSync } from 'node:fs';
import { basename } from 'node:path';
import * as z from 'zod/mini';
import { breakFileSystem, callsSoFar, FaultPlan } from '../history/broken-fs.ts';

const Broken = z.object({ program: z.string(), plan: FaultPlan, counts: z.string() });
export type Broken = z.infer<typeof Broken>;

/** The environment's variable that says it, as JSON. */
const { JOB_FAULT: text } = process.env;
if (text !== undefined) {
  const { program, plan, counts } = z.parse(Broken, JSON.parse(text));
  if (basename(process.argv[1] ?? '') === program) {
    const write = appendFileSync;
    await breakFileSystem(plan);
    process.on('exit', () => {
      const calls = callsSoFar();
      try {
        write(counts, `${calls}\n`);
      } catch {
        // The call that was to fail was this one.
      }
    });
  }
}
