import { readFile } from 'node:fs/promises';
import { EXIT } from '../../lib/errors.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { InvalidGraphError } from '../../runs/index.ts';
import { beside } from '../jobs/context.ts';
import { type Answer, answering } from './answering.ts';
import { readGraph } from './graph-file.ts';

interface ValidateOptions {
  readonly maxSteps?: number;
  readonly schema?: boolean;
  readonly json?: boolean;
}

/** Says everything that is wrong with a graph and starts nothing (R3, R4); with `--schema` how a graph is written. */
export async function validate(source: string | undefined, options: ValidateOptions): Promise<number> {
  if (options.schema) {
    process.stdout.write(await readFile(beside('graph.schema.json')));
    return 0;
  }
  return answering(options, () => validated(source ?? '-', options));
}

async function validated(source: string, { maxSteps, json = false }: ValidateOptions): Promise<Answer> {
  try {
    const graph = await readGraph(source, maxSteps);
    return {
      facts: { objective: graph.objective, steps: graph.steps },
      text: `${source}: ${graph.steps.length} steps, nothing to object to\n`,
    };
  } catch (error) {
    if (json || !(error instanceof InvalidGraphError)) throw error;
    for (const objection of error.objections)
      process.stderr.write(`${safeForTerminal(`${source}: ${objection}`)}\n`);
    return { facts: {}, text: '', exitCode: EXIT.usage };
  }
}
