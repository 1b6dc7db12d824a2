import { expect, it } from 'vitest';
import { endingReason, parseLogLine } from '../../../src/cli/sandbox/sandbox-log-lines.ts';

const reasonIn = (line: string) => {
  const parsed = parseLogLine(line);
  return parsed === undefined ? undefined : endingReason(parsed);
};

it('S14: the reason is what the supervisor wrote last', () => {
  expect(reasonIn('{"time":"2026-01-01T00:00:00.000Z","event":"ended","reason":"idle"}')).toBe('idle');
});

it('S14: a sandbox whose log just stops was killed, whatever ended it the time before', () => {
  expect(reasonIn('{"time":"2026-01-01T00:00:00.000Z","event":"started","pid":7}')).toMatch(/^killed/);
});
