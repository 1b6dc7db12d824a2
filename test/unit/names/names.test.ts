import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DomainId, InstallationPrefix } from '../../../src/cli/config/index.ts';
import {
  domainOfNetworkName,
  imageName,
  networkName,
  sandboxName,
  volumeNames,
  volumeOfName,
} from '../../../src/cli/sandbox/names.ts';
import { UsageError } from '../../../src/lib/errors.ts';

const none = InstallationPrefix.parse('');
const work = DomainId.parse('work');

const prefixes = fc
  .oneof(
    fc.constantFrom('', 'a', 'a-', 'a-pi-', 'test-1-', 'pi-', 'pi-sessions'),
    fc.stringMatching(/^[a-z0-9]{0,8}-?$/),
  )
  .filter((text) => InstallationPrefix.safeParse(text).success)
  .map((text) => InstallationPrefix.parse(text));
const domains = fc
  .oneof(
    fc.constantFrom('work', 'pi-agent-state', 'pi-sessions-work'),
    fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,31}$/),
  )
  .map((text) => DomainId.parse(text));
const segment = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 200 })
  .filter((text) => !/[/\p{Cc}]/u.test(text));
const projects = fc
  .oneof(
    fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => `/${parts.join('/')}`),
    fc.constantFrom('/a/b', '/a-b', '/a b', '/a:b', '/a,b', '/a"b', "/a'b", '/ä/b', '/a/B'),
  )
  .filter((path) => Buffer.from(path).toString() === path);

describe('names of containers', () => {
  it('S18: distinct prefix, domain and project never share a name, and every engine accepts it', () => {
    fc.assert(
      fc.property(
        fc.tuple(prefixes, domains, projects),
        fc.tuple(prefixes, domains, projects),
        (one, two) => {
          const [first, second] = [sandboxName(...one), sandboxName(...two)];
          expect(first).toMatch(/^[a-z0-9][a-zA-Z0-9_.-]{1,127}$/);
          expect(first === second).toBe(one.every((part, index) => part === two[index]));
        },
      ),
      { numRuns: 300 },
    );
  });

  it('S18: moving a character between prefix, domain and path gives another name', () => {
    const a = sandboxName(InstallationPrefix.parse('a'), DomainId.parse('b'), '/x');
    const b = sandboxName(none, DomainId.parse('ab'), '/x');
    expect(a.slice(-16)).not.toBe(b.slice(-16));
  });

  it.each([
    ['/a/b', '/a-b'],
    ['/p/caf\u00e9', '/p/cafe\u0301'],
    ['/p/x y', '/p/x,y'],
    [`/p/${'n'.repeat(200)}`, `/p/${'n'.repeat(199)}m`],
    ['/p/日本', '/p/中国'],
  ])('S18: %j and %j are two sandboxes', (one, two) => {
    expect(sandboxName(none, work, one)).not.toBe(sandboxName(none, work, two));
  });

  it('S18: the name is readable', () => {
    expect(sandboxName(none, work, '/home/me/Café "Crème"')).toMatch(
      /^pi-sandbox-work-cafe-creme-[0-9a-f]{16}$/,
    );
  });

  it.each(['/p/a\nb', '/p/a\0b', '/p/a\rb', '/p/\ud800'])('S18: the path %j is refused', (path) => {
    expect(() => sandboxName(none, work, path)).toThrow(UsageError);
  });
});

describe('names of volumes, networks and images', () => {
  it('S1: a volume has the documented name', () => {
    expect(volumeNames(none, work)).toEqual({
      agentState: 'pi-agent-state',
      sessions: 'pi-sessions-work',
      domainState: 'pi-domain-state-work',
    });
  });

  it('S1: no volume of one installation or domain is taken for one of another', () => {
    fc.assert(
      fc.property(fc.tuple(prefixes, domains), fc.tuple(prefixes, domains), (one, two) => {
        const mine = volumeNames(...one);
        expect(volumeOfName(one[0], mine.sessions)).toEqual({ role: 'sessions', domain: one[1] });
        expect(volumeOfName(one[0], mine.domainState)).toEqual({ role: 'domain-state', domain: one[1] });
        expect(volumeOfName(one[0], mine.agentState)).toEqual({ role: 'agent-state', domain: undefined });
        if (one[0] === two[0]) return;
        for (const name of Object.values(mine)) expect(volumeOfName(two[0], name)).toBeUndefined();
      }),
      { numRuns: 300 },
    );
  });

  it('S1: a prefix that would imitate another installation is refused', () => {
    for (const text of [
      'pi-sessions-',
      'x-pi-sandbox-',
      'pi-agent-state',
      '-a',
      'A',
      'a b',
      'a'.repeat(33),
    ]) {
      expect(InstallationPrefix.safeParse(text).success).toBe(false);
    }
  });

  it('S17: a network belongs to one domain of one installation', () => {
    expect(networkName(none, work)).toBe('pi-network-work');
    expect(domainOfNetworkName(none, 'pi-network-work')).toBe('work');
    expect(domainOfNetworkName(none, 'other-pi-network-work')).toBeUndefined();
    expect(domainOfNetworkName(none, 'pi-network-')).toBeUndefined();
  });

  it('S21: an image is named by the hash of what it holds', () => {
    expect(imageName(InstallationPrefix.parse('test-'), '0123456789abcdef')).toBe(
      'test-pi-sandbox:0123456789abcdef',
    );
  });
});
