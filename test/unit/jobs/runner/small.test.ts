import { readFileSync, statSync } from 'node:fs';
import { expect, it } from 'vitest';
import { builtProgram } from '../../../setup/built-program.ts';

it('J15: a runner brings no command line, no engine and no YAML along, and stays small', () => {
  const program = builtProgram('src/agent/multi-agent-runner.ts');
  const text = readFileSync(program, 'utf8');
  for (const name of ['commander', 'dockerode', 'yaml', 'pi-tui']) {
    expect(text, name).not.toContain(`node_modules/${name}/`);
  }
  // Bytes before it is made smaller for the image; what it holds in memory is measured (B13).
  expect(statSync(program).size).toBeLessThan(700_000);
});
