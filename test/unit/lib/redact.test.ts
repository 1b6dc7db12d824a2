import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redactor, safeForTerminal } from '../../../src/lib/redact.ts';

const SECRET = 'p@ss/w"örd+42?';

describe('redactor', () => {
  it.each([
    ['as it is', SECRET],
    ['in a URL', encodeURIComponent(SECRET)],
    ['in a URL, lower case', encodeURIComponent(SECRET).replace(/%../g, (code) => code.toLowerCase())],
    ['in JSON', JSON.stringify({ key: SECRET })],
    ['in base64', Buffer.from(SECRET).toString('base64')],
    ['in base64url', Buffer.from(SECRET).toString('base64url')],
  ])('S10: a secret is taken out %s', (_name, text) => {
    const result = redactor([SECRET])(`before ${text} after`);
    expect(result).toContain('[redacted]');
    expect(result).toMatch(/^before .* after$/);
    expect(result).not.toContain(text);
  });

  it('S10: a secret inside base64 of a longer text is taken out at any offset', () => {
    for (const before of ['', 'u', 'us', 'use']) {
      const text = Buffer.from(`${before}${SECRET}tail`).toString('base64');
      const left = redactor([SECRET])(text).replace('[redacted]', '');
      expect(left.length).toBeLessThan(text.length - SECRET.length);
    }
  });

  it('S10: of two secrets that begin alike the longer one goes first', () => {
    expect(redactor(['secret', 'secret-long'])('x secret-long y secret z')).toBe(
      'x [redacted] y [redacted] z',
    );
  });

  it('S10: short values stay, for they are ordinary words', () => {
    expect(redactor(['', 'true'])('true story')).toBe('true story');
  });

  it.each([
    `sk-ant-api03-${'a1B2'.repeat(8)}`,
    `ghp_${'a1B2'.repeat(9)}`,
    `github_pat_${'a1B2_'.repeat(9)}`,
    'AKIAIOSFODNN7EXAMPLE',
    `Authorization: Bearer ${'t0ken.'.repeat(4)}`,
    'https://user:hunter22@example.org/x',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl',
  ])('S10: %s is recognised without being told', (text) => {
    const result = redactor([])(`key ${text} end`);
    expect(result).toContain('[redacted]');
    expect(result).toMatch(/^key .* end$|^key https.*@example.org\/x end$/);
  });

  it('S10: ordinary text stays as it is', () => {
    const text = 'see https://example.org:8080/a@b, task-list, Basic idea, sketch, ask-me; bearer of news';
    expect(redactor([])(text)).toBe(text);
  });

  it('S10 fuzz: no secret survives, whatever is around it', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 6, maxLength: 40 }),
        fc.string(),
        fc.string(),
        (secret, before, after) => {
          fc.pre(!'[redacted]'.includes(secret));
          const redact = redactor([secret]);
          expect(redact(`${before}${secret}${after}`)).toContain('[redacted]');
          expect(redact(before + secret + after).split(secret).length).toBeLessThanOrEqual(1);
        },
      ),
      { seed: 3, numRuns: 500 },
    );
  });

  it('rule 7: text made to be slow to search is not', () => {
    const redact = redactor([SECRET]);
    for (const text of ['-eyJ', 'eyJaaaaaaaa', 'a://', '-----BEGIN A', 'Bearer ', 'sk-', ':@/']) {
      redact(text.repeat(200_000 / text.length));
    }
  });
});

describe('safeForTerminal', () => {
  it.each([
    ['colour', 'a\u001b[31mb', 'a\ufffdb'],
    ['clear screen in C1', 'a\u009b2Jb', 'a\ufffdb'],
    ['title with BEL', 'a\u001b]0;owned\u0007b', 'a\ufffdb'],
    ['clipboard with ST', 'a\u001b]52;c;cm0=\u001b\\b', 'a\ufffdb'],
    ['device control', 'a\u001bPq#0\u001b\\b', 'a\ufffdb'],
    ['reset', 'a\u001bcb', 'a\ufffdb'],
    ['an unfinished sequence', 'a\u001b[', 'a\ufffd['],
    ['an unfinished title', 'a\u001b]0;b', 'a\ufffd]0;b'],
    ['carriage return and bell', 'a\rb\u0007', 'a\ufffdb\ufffd'],
    ['reversed text', 'a\u202eb', 'a\ufffdb'],
    ['line breaks', 'a\nb\tc', 'a b c'],
    ['ordinary text', 'grüße 👩‍💻 — ok', 'grüße 👩‍💻 — ok'],
  ])('rule 8: %s', (_name, text, safe) => {
    expect(safeForTerminal(text)).toBe(safe);
  });

  it('rule 8: line breaks stay where lines are wanted', () => {
    expect(safeForTerminal('a\n\tb\r\n', { lines: true })).toBe('a\n\tb\ufffd\n');
  });

  it('rule 8 fuzz: nothing that a terminal acts on is left', () => {
    const nasty = fc.string({
      unit: fc.constantFrom('\u001b', '[', ']', 'P', ';', '0', 'm', '\u009b', '\u0007', '\\', '\n'),
    });
    fc.assert(
      fc.property(fc.oneof(nasty, fc.string({ unit: 'binary' })), (text) => {
        expect(safeForTerminal(text)).not.toMatch(/[\p{Cc}\p{Cs}]/u);
      }),
      { seed: 4, numRuns: 1_000 },
    );
  });
});
