import { safeForTerminal } from '../../lib/redact.ts';
import { factsOf, ownerClassOf, type RunDirectory, reattachRun, type Snapshot } from '../../runs/index.ts';
import { answering } from './answering.ts';
import { runContext } from './context.ts';
import { runNamed } from './named.ts';
import { streamEvents } from './stream.ts';

interface ReattachOptions {
  readonly follow?: boolean;
  /** Number of the last event that is known. */
  readonly after?: number;
  readonly json?: boolean;
}

/** All that is kept of a run, which nothing need be known of but its id; changes nothing (R8). */
export async function reattach(
  run: string,
  { follow = false, after, json = false }: ReattachOptions,
): Promise<number> {
  let directory: RunDirectory | undefined;
  const code = await answering({ json, lines: follow }, async () => {
    const context = await runContext();
    directory = await runNamed(context, run);
    const snapshot = await reattachRun(directory);
    const { manifest, status, worktrees, mirroredArtifacts } = snapshot;
    const ownerClass = ownerClassOf(factsOf(snapshot.run), context.caller);
    return {
      facts: { ownerClass, manifest, status, worktrees, mirroredArtifacts },
      text: textOf(snapshot, ownerClass),
    };
  });
  if (code !== 0 || !follow || directory === undefined) return code;
  await streamEvents(await runContext(), directory, { json, ...(after === undefined ? {} : { after }) });
  return 0;
}

function textOf({ run, manifest, status, worktrees, mirroredArtifacts }: Snapshot, owner: string): string {
  const lines = [
    `run: ${run.id}`,
    `status: ${status.status}`,
    `owner: ${owner}`,
    `objective: ${manifest.objective}`,
    `directory: ${run.directory}`,
    ...manifest.graph.steps.map(({ id }) => `step: ${id} ${status.steps[id]?.status ?? '-'}`),
    ...worktrees.map(({ stepId, worktreePath, cleanedUp }) =>
      cleanedUp ? `worktree: ${stepId} cleaned up` : `worktree: ${stepId} ${worktreePath}`,
    ),
    ...mirroredArtifacts.map((path) => `artifact: ${path}`),
  ];
  return lines.map((line) => `${safeForTerminal(line)}\n`).join('');
}
