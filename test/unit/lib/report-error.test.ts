import { expect, it, vi } from 'vitest';
import { OperationError } from '../../../src/lib/errors.ts';
import { reportError } from '../../../src/lib/report-error.ts';

it('rule 5: the error is one line, and each line of its hint is indented below it', () => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  reportError(new OperationError('no\nengine', { hint: 'tried:\nthis\u001b[31m\n' }), { debug: false });
  const printed = write.mock.calls.map(([text]) => String(text)).join('');
  write.mockRestore();
  expect(printed).toBe('pi-sandbox: no engine\n  tried:\n  this\ufffd\n');
});

it('rule 5: it begins with the name of the command that failed', () => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  reportError(new OperationError('no room'), { debug: false, program: 'pi-work' });
  const printed = write.mock.calls.map(([text]) => String(text)).join('');
  write.mockRestore();
  expect(printed).toBe('pi-work: no room\n');
});
