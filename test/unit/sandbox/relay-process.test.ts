/** The life of a relay process against engines that fail; the engine is a list of answers on a socket. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { serveRelay } from '../../../src/cli/sandbox/relay-process.ts';
import { noteRelayEnd, relaysOf, writeRelayState } from '../../../src/cli/sandbox/relay-state.ts';
import { type Engine, openEngine } from '../../../src/engine/index.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { tryLock } from '../../../src/lib/kernel-lock.ts';

let directory = '';
let now = 0;
const clock: Clock = {
  now: () => new Date(now),
  monotonic: () => now,
  sleep: async (milliseconds) => {
    now += milliseconds;
  },
};

beforeEach(() => {
  now = 0;
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'relay-process-')));
  const made = directory;
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
});

/** An engine on which nothing can be run; `look` is its answer when asked for a container. */
async function engineWith(look: (container: string) => number): Promise<Engine> {
  const path = join(directory, 'engine.sock');
  const server = createServer((request, response) => {
    const [, container = ''] = /^\/containers\/(\w+)\/json/.exec(request.url ?? '') ?? [];
    const status = container === '' ? 404 : look(container);
    const message = status === 404 ? 'no such container' : 'the engine has trouble';
    const body = status === 200 ? { Id: OWN, State: { Status: 'running' } } : { message };
    request.resume().on('end', () => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const engine = await openEngine({ engine: `unix://${path}`, env: {}, home: directory });
  onTestFinished(() => {
    engine.close();
    server.close();
  });
  return engine;
}

const OWN = 'a'.repeat(64);
const OLD = 'b'.repeat(64);

function stateOf(engine: Pick<Engine, 'address'>, container: string): Promise<string> {
  return writeRelayState(directory, {
    engine: engine.address,
    sandbox: 'shop',
    container,
    service: 'ssh-agent',
  });
}

describe('S10: a relay process', () => {
  it('S10: serves on although it cannot tell what others have left, and takes only its own away', async () => {
    const answers = [500, 200, 404];
    const engine = await engineWith((container) => (container === OWN ? (answers.shift() ?? 404) : 500));
    const [own, old] = [await stateOf(engine, OWN), await stateOf(engine, OLD)];
    await serveRelay(own, engine, AbortSignal.timeout(20_000), clock);
    expect(answers).toEqual([]);
    expect([own, old].map((file) => existsSync(file))).toEqual([false, true]);
  });

  it('S10: takes away what killed relays have left of this engine’s sandboxes that are gone', async () => {
    const engine = await engineWith(() => 404);
    const [own, dead] = [await stateOf(engine, OWN), await stateOf(engine, OLD)];
    const elsewhere = await stateOf({ address: 'unix:///elsewhere.sock' }, 'c'.repeat(64));
    const damaged = join(directory, 'relays', `${'d'.repeat(12)}-ssh-agent.json`);
    writeFileSync(damaged, '{');
    await serveRelay(own, engine, AbortSignal.timeout(20_000), clock);
    expect([dead, elsewhere, damaged].map((file) => existsSync(file))).toEqual([false, true, true]);
  });

  it('S10, S15: what goes on with a sandbox is what is relayed to its container on its engine, served or not', async () => {
    const engine = await engineWith(() => 200);
    expect(await relaysOf(directory, engine, 'shop')).toEqual([]);
    await stateOf(engine, OWN);
    await stateOf(engine, OLD);
    await stateOf({ address: 'unix:///elsewhere.sock' }, `${OWN.slice(0, 11)}c`);
    const found = await relaysOf(directory, engine, 'shop');
    expect(found.map(({ container }) => container)).toEqual([OWN]);
    expect(await relaysOf(directory, engine, 'other')).toEqual([]);
  });

  it('S10: judges no sandbox of another engine than the one it has found', async () => {
    const engine = await engineWith(() => 404);
    const own = await stateOf({ address: 'unix:///elsewhere.sock' }, OWN);
    const served = serveRelay(own, engine, AbortSignal.timeout(20_000), clock);
    await expect(served).rejects.toThrow('its sandbox is on unix:///elsewhere.sock');
    expect(existsSync(own)).toBe(true);
  });

  it('S10: gives up on a sandbox that never answers, and leaves written down what it served', async () => {
    const engine = await engineWith(() => 200);
    const own = await stateOf(engine, OWN);
    await expect(serveRelay(own, engine, AbortSignal.timeout(20_000), clock)).rejects.toThrow(
      'does not answer',
    );
    expect(existsSync(own)).toBe(true);
    expect(now).toBeGreaterThanOrEqual(120_000);
  });

  it('rule 1: is not kept from serving by somebody who looks whether it is served, but by who serves', async () => {
    const engine = await engineWith(() => 404);
    const own = await stateOf(engine, OWN);
    const lock = tryLock(`${own}.lock`);
    await serveRelay(own, engine, AbortSignal.timeout(20_000), clock);
    expect(existsSync(own)).toBe(true);
    setTimeout(() => lock?.release(), 50);
    await serveRelay(own, engine, AbortSignal.timeout(20_000), clock);
    expect(existsSync(own)).toBe(false);
  });

  it('rule 7: says in a log why it ended, and the log stays small', async () => {
    const file = join(directory, 'relays', `${'a'.repeat(12)}-ssh-agent.json`);
    const log = join(directory, 'relays/log.jsonl');
    mkdirSync(join(directory, 'relays'));
    await noteRelayEnd(file, 'why', clock);
    expect(JSON.parse(readFileSync(log, 'utf8'))).toEqual({
      at: '1970-01-01T00:00:00.000Z',
      event: 'relay-ended',
      relay: 'aaaaaaaaaaaa-ssh-agent',
      reason: 'why',
    });
    writeFileSync(log, 'x'.repeat(70_000));
    await noteRelayEnd(file, 'why', clock);
    expect(readFileSync(log, 'utf8').length).toBeLessThan(200);
  });
});
