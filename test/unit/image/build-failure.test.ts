/** How a build that failed is told; the engine is an answer on a socket. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { progressLine } from '../../../src/cli/ui/progress.ts';
import { ImageBuildError, openEngine } from '../../../src/engine/index.ts';

it('S21: a long step is cut in the message, which keeps how it failed; the log has it whole', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'pi-sandbox-build-'));
  const step = `set -eu;\n${'apt-get install x; '.repeat(100)}`;
  const error = `The command '/bin/sh -c ${step}' returned a non-zero code: 100`;
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end(`${JSON.stringify({ error })}\n`));
  });
  await new Promise<void>((resolve) => server.listen(join(directory, 'engine.sock'), resolve));
  const engine = await openEngine({ engine: `unix://${directory}/engine.sock`, env: {}, home: directory });
  onTestFinished(() => {
    engine.close();
    server.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const failure: unknown = await engine.images
    .build({ context: Buffer.from('x'), tags: ['image:1'] })
    .catch((reason: unknown) => reason);
  if (!(failure instanceof ImageBuildError)) throw failure;
  expect(failure.message).toMatch(/^cannot build image image:1: The command .* … .*code: 100$/);
  expect(failure.message.length).toBeLessThan(250);
  expect(failure.log).toContain(error);
});

it.each([true, false])('S21: its log is printed once; already shown: %s', (logShown) => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  progressLine('building').failed(new ImageBuildError('engine', 'message', 'the log'), { logShown });
  const printed = write.mock.calls.map(([text]) => String(text)).join('');
  write.mockRestore();
  expect(printed.includes('the log')).toBe(!logShown);
});
