import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

const LIB = new URL('../../../src/lib/', import.meta.url).href;

export interface TestChild {
  process: ChildProcess;
  /** The next line that it prints. */
  line(): Promise<string>;
  /** Resolves with its exit code, or the signal that ended it. */
  exit: Promise<number | string>;
}

/** Runs TypeScript-free module code in a process of its own; `lib('x.ts')` in it is the address of a file of src/lib. */
export function startChild(code: string, ...args: string[]): TestChild {
  const prelude = `const lib = (name) => ${JSON.stringify(LIB)} + name;\n`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', prelude + code, '--', ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    process: child,
    line: async () => String((await lines.next()).value),
    exit: once(child, 'exit').then(([status, signal]) => status ?? signal),
  };
}
