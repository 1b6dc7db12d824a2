import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { graphJsonSchema } from '../../../scripts/graph-schema.ts';
import { parseYaml } from '../../../src/lib/yaml-text.ts';
import { checkGraph } from '../../../src/runs/index.ts';

const ROOT = join(import.meta.dirname, '../../..');
const EXAMPLES = join(ROOT, 'examples');
const graphs = readdirSync(EXAMPLES).filter((name) => name.endsWith('.yaml'));

describe('example graphs (R4)', () => {
  it.each(graphs)('R4: %s can be run, and names the schema that it is checked by', async (name) => {
    const text = readFileSync(join(EXAMPLES, name), 'utf8');
    expect(checkGraph(await parseYaml(text, {}))).not.toHaveProperty('objections');
    expect(text.split('\n')[0]).toBe('# yaml-language-server: $schema=../docs/graph.schema.json');
  });

  it('R4: the JSON Schema in docs is that of the graphs that are read', () => {
    const published: unknown = JSON.parse(readFileSync(join(ROOT, 'docs/graph.schema.json'), 'utf8'));
    // `node scripts/graph-schema.ts` writes it again.
    expect(published).toEqual(JSON.parse(JSON.stringify(graphJsonSchema())));
  });
});
