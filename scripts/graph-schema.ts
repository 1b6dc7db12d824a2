/** `node scripts/graph-schema.ts` writes docs/graph.schema.json, which editors check graphs by, from the schema that reads them. */
import { writeFileSync } from 'node:fs';
import * as z from 'zod/mini';
import { graphFileSchema } from '../src/runs/index.ts';

export function graphJsonSchema(): unknown {
  return { title: 'A graph of agent steps', ...z.toJSONSchema(graphFileSchema()) };
}

if (import.meta.main)
  writeFileSync('docs/graph.schema.json', `${JSON.stringify(graphJsonSchema(), undefined, 2)}\n`);
