import { afterEach, describe, expect, it } from 'vitest';
import {
  PiEndedError,
  PiGarbageError,
  type PiRpc,
  PiSilentError,
  PiStartError,
  spawnPi,
} from '../../../../src/pi/index.ts';
import { type FakePi, fakePi } from '../../../setup/fake-pi.ts';
import { until } from '../../../setup/pi.ts';

const clients: PiRpc[] = [];

async function start(...given: Parameters<typeof fakePi>): Promise<FakePi> {
  const pi = await fakePi(...given);
  clients.push(pi.client);
  return pi;
}

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.stop()));
});

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}

describe('a pi that dies', () => {
  it('J4: in the middle of a line, ends the turn with its exit code and its last words', async () => {
    const { client } = await start(`on({ prompt: (request) => {
      answer(request, { disposition: 'started' });
      say({ type: 'agent_start' });
      process.stderr.write('before\\nout of memory\\n');
      process.stdout.write('{"type":"message_end","mess', () => process.exit(7));
    } })`);
    const failure = await client.prompt('x').outcome.catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(PiEndedError);
    expect(failure).toMatchObject({ exit: { code: 7, signal: null }, stderr: 'before\nout of memory\n' });
    expect(failure).toHaveProperty('message', 'pi ended (exit code 7): out of memory');
    expect(() => client.prompt('again')).toThrow(PiEndedError);
    await expect(client.steer('x')).rejects.toThrow(PiEndedError);
  });

  it('J4: right after its end was written, has still ended the turn', async () => {
    const { client } = await start(`on({ prompt: (request) => {
      answer(request, { disposition: 'started' });
      settle('the last word');
      process.stdout.write('', () => process.exit(0));
    } })`);
    expect(await client.prompt('x').outcome).toMatchObject({ kind: 'done', text: 'the last word' });
    expect(await client.ended).toMatchObject({ exit: { code: 0 } });
  });

  it('J4: and leaves a child with its pipes behind, is noticed all the same', async () => {
    const { client } = await start(
      `require('node:child_process').spawn('sleep', ['3'], { stdio: 'inherit', detached: true });
       process.exit(3);`,
      { limits: { drainMs: 200, startMs: 2_000 } },
    );
    await expect(client.ready()).rejects.toThrow('pi ended (exit code 3)');
  });

  it('J4: before it was alive, is a named error', async () => {
    const command = { command: '/nowhere/pi', args: [], cwd: '/', env: {} };
    await expect(spawnPi(command)).rejects.toThrow(PiStartError);
  });
});

describe('a pi that hangs', () => {
  it('J4: at its start, is ended after a bound', async () => {
    const { client } = await start('setInterval(() => {}, 1000)', { limits: { startMs: 300 } });
    await expect(client.ready()).rejects.toThrow(PiSilentError);
    expect((await client.ended).error).toBeInstanceOf(PiSilentError);
    expect(isGone(client.pid)).toBe(true);
  });

  it('J4: in a turn, is asked for a sign of life and ended without one', async () => {
    const { client } = await start(
      `on({ prompt: (request) => {
        answer(request, { disposition: 'started' });
        say({ type: 'agent_start' });
        setTimeout(() => { for (;;); }, 10);
      } })`,
      { limits: { quietMs: 200, answerMs: 200, graceMs: 100 } },
    );
    await expect(client.prompt('x').outcome).rejects.toThrow('pi has not answered get_state for 0.2 s');
    expect((await client.ended).exit).toEqual({ code: null, signal: 'SIGTERM' });
  });

  it('J4: is left alone while it is silent and answers', async () => {
    const { client } = await start(
      `on({ prompt: (request) => {
        answer(request, { disposition: 'started' });
        say({ type: 'agent_start' });
        setTimeout(() => settle('worth waiting for'), 1500);
      } })`,
      { limits: { quietMs: 100, answerMs: 1_000 } },
    );
    expect(await client.prompt('x').outcome).toMatchObject({ kind: 'done', text: 'worth waiting for' });
  });

  it('J4: at an abort, is told apart from a pi that is gone', async () => {
    const { client } = await start('on({ abort() {} })', { limits: { abortMs: 100 } });
    await expect(client.abort()).rejects.toThrow(PiSilentError);
    expect(await client.state()).toMatchObject({ sessionId: 's' });
  });

  it('J4: at SIGTERM, is killed after the grace', async () => {
    const { client } = await start(`process.on('SIGTERM', () => {}); on({})`, { limits: { graceMs: 300 } });
    await client.ready();
    expect(await client.stop()).toEqual({ code: null, signal: 'SIGKILL' });
    expect(isGone(client.pid)).toBe(true);
  });
});

describe('a pi that is stopped', () => {
  it('J4: after it failed, is not told twice, for that would end its clearing up', async () => {
    const { client } = await start(
      `let told = 0;
       process.on('SIGTERM', () => { told++; setTimeout(() => process.exit(told), 400); });
       on({ get_session_stats() {}, get_state: (request) => { if (request.id === 'r1') answer(request, idle); } })`,
      { limits: { answerMs: 100 } },
    );
    await client.ready();
    await expect(client.state()).rejects.toThrow(PiSilentError);
    expect(await client.stop()).toEqual({ code: 1, signal: null });
  });
});

describe('a pi that writes garbage', () => {
  it('J4: costs the lines it damages, and the turn goes on', async () => {
    const { client, problems } = await start(`on({ prompt: (request) => {
      process.stdout.write('some native library says hello\\n[1,2]\\n"text"\\n{"no":"type"}\\n\\n');
      process.stdout.write(Buffer.from([0xff, 0xfe, 0x0a]));
      say({ id: 'nobody', type: 'response', command: 'bash', success: true });
      answer(request, { disposition: 'started' });
      settle('fine');
    } })`);
    expect(await client.prompt('x').outcome).toMatchObject({ kind: 'done', text: 'fine' });
    expect(problems()).toEqual(Array(6).fill('PiGarbageError'));
  });

  it('J4: and nothing else, is ended', async () => {
    const { client } = await start(`setInterval(() => process.stdout.write('x\\n'.repeat(100)), 1)`, {
      limits: { garbageLines: 500 },
    });
    await expect(client.ready()).rejects.toThrow(PiGarbageError);
    expect((await client.ended).exit).toEqual({ code: null, signal: 'SIGTERM' });
  });

  it('J4: as an answer, ends the client, for it cannot be known what pi does', async () => {
    const { client } = await start(`on({ prompt: (request) => answer(request, 'perhaps') })`);
    await expect(client.prompt('x').outcome).rejects.toThrow(PiGarbageError);
  });

  it('J4: events and fields that are not known pass through', async () => {
    const { client, events } = await start(`on({ prompt: (request) => {
      answer(request, { disposition: 'started', since: '2.0' });
      say({ type: 'agent_dreams', of: 'sheep' });
      say({ type: 'queue_update', steering: 7 });
      settle('fine');
    } })`);
    expect(await client.prompt('x').outcome).toMatchObject({ kind: 'done' });
    expect(events.slice(0, 2)).toEqual([
      { type: 'unknown', name: 'agent_dreams', raw: { type: 'agent_dreams', of: 'sheep' } },
      { type: 'unknown', name: 'queue_update', raw: { type: 'queue_update', steering: 7 } },
    ]);
  });
});

describe('a pi that floods', () => {
  const MIB = 1024 * 1024;
  const line = (bytes: number): string => `
    const head = '{"type":"notice","text":"';
    process.stdout.write(head + 'x'.repeat(${bytes} - head.length - 2) + '"}\\n');`;

  it('J4: a line of 16 MiB is read, one byte more is skipped and named', async () => {
    const { client, events, problems } = await start(`on({ prompt: (request) => {
      answer(request, { disposition: 'started' });
      ${line(16 * MIB).replaceAll('const', 'var')}
      ${line(16 * MIB + 1).replaceAll('const', 'var')}
      settle('fine');
    } })`);
    expect(await client.prompt('x').outcome).toMatchObject({ kind: 'done', text: 'fine' });
    expect(events[0]).toMatchObject({ type: 'unknown', name: 'notice' });
    expect(problems()).toEqual(['PiLineTooLongError']);
  });

  it('J4: an answer that is too long fails its request and nothing else', async () => {
    const { client } = await start(
      `on({ get_session_stats: (request) => answer(request, { padding: 'x'.repeat(2000) }) })`,
      { limits: { lineBytes: 1_000 } },
    );
    await expect(client.stats()).rejects.toThrow('pi wrote a line longer than 1000 bytes; it is skipped');
    expect(await client.state()).toMatchObject({ sessionId: 's' });
  });

  it('J4: a last message that is too long is a failure that says so', async () => {
    const { client } = await start(
      `on({ prompt: (request) => { answer(request, { disposition: 'started' }); settle('x'.repeat(2000)); } })`,
      { limits: { lineBytes: 1_000 } },
    );
    expect(await client.prompt('x').outcome).toMatchObject({ kind: 'failed', cause: 'too-long' });
  });

  it('J4: an endless line without an end is not held in memory', async () => {
    const { client } = await start(
      `on({ prompt() { const block = 'x'.repeat(1 << 20); const more = () => process.stdout.write(block, more); more(); } })`,
      { limits: { lineBytes: MIB, startMs: 1_500, answerMs: 1_500 } },
    );
    await client.ready();
    const before = process.memoryUsage().rss;
    client.prompt('x');
    await expect(client.state()).rejects.toThrow(PiSilentError);
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * MIB);
  });

  it('J4: its receiver slows it down', async () => {
    let release = (): void => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { client, events } = await start(
      `let sent = 0;
       const more = () => {
         while (sent < 50_000) { sent++; if (!process.stdout.write('{"type":"n","text":"' + 'x'.repeat(900) + '"}\\n')) return; }
       };
       process.stdout.on('drain', more);
       on({ prompt: (request) => { answer(request, { disposition: 'started' }); more(); },
            clear_queue: (request) => answer(request, { steering: [String(sent)], followUp: [] }) });`,
      { receive: () => gate },
    );
    client.prompt('x');
    await until('the first event', () => events.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(events).toHaveLength(1);
    const queue = client.clearQueue();
    release();
    expect(Number((await queue).steering[0])).toBeLessThan(5_000);
  });

  it('J4: on standard error, the end is kept and the rest counted', async () => {
    const { client } = await start(`process.stderr.write('é'.repeat(100_000) + 'the end\\n', () => on({}))`, {
      limits: { stderrBytes: 100 },
    });
    await client.ready();
    await until('all of it', () => client.stderr.text().endsWith('the end\n'));
    expect(client.stderr.text()).toBe(`${'é'.repeat(46)}the end\n`);
    expect(client.stderr.dropped).toBe(200_008 - 100);
  });

  it('J4: a receiver that throws ends the client with its error', async () => {
    const { client } = await start(`say({ type: 'notice' }); on({})`, {
      receive: () => Promise.reject(new Error('the disk is full')),
    });
    expect((await client.ended).error.message).toBe('the disk is full');
  });
});

describe('the end that is none', () => {
  const started = `answer(request, { disposition: 'started' });`;

  it('J4: an early agent_settled in a run does not end the turn', async () => {
    const { client } = await start(`on({ prompt: (request) => {
      ${started}
      say({ type: 'agent_start' });
      say({ type: 'agent_settled', aborted: false });
      setTimeout(() => settle('the real one'), 300);
    } })`);
    expect(await client.prompt('x').outcome).toMatchObject({ kind: 'done', text: 'the real one' });
  });

  it('J4: an agent_settled before the run does not end the turn while pi is busy', async () => {
    const { client } = await start(
      `let busy = true;
       on({ prompt: (request) => {
         ${started}
         say({ type: 'agent_settled', aborted: false });
         setTimeout(() => { busy = false; settle('the real one'); }, 500);
       }, get_state: (request) => answer(request, { ...idle, isStreaming: busy }) })`,
      { limits: { doubtMs: 50 } },
    );
    expect(await client.prompt('x').outcome).toMatchObject({ kind: 'done', text: 'the real one' });
  });

  it('J4: settled without an assistant message is a failure, once pi is found idle', async () => {
    const { client } = await start(
      `on({ prompt: (request) => {
        ${started}
        say({ type: 'agent_start' });
        say({ type: 'agent_end', willRetry: false });
        say({ type: 'agent_settled', aborted: false });
      } })`,
      { limits: { doubtMs: 50 } },
    );
    expect(await client.prompt('x').outcome).toMatchObject({ kind: 'failed', cause: 'no-message' });
  });

  it('J4: a message of an earlier run does not count for this prompt', async () => {
    const { client } = await start(
      `on({ prompt: (request) => {
        settle('of something else');
        ${started}
        say({ type: 'agent_start' });
        say({ type: 'agent_end', willRetry: false });
        say({ type: 'agent_settled', aborted: false });
      } })`,
      { limits: { doubtMs: 50 } },
    );
    expect(await client.prompt('x').outcome).toMatchObject({ kind: 'failed', cause: 'no-message', text: '' });
  });

  it('J4: a compaction that a command began is waited for', async () => {
    const { client } = await start(
      `let busy = true;
       on({ prompt: (request) => {
         answer(request, { disposition: 'handled' });
         setTimeout(() => { busy = false; }, 300);
       }, get_state: (request) => answer(request, { ...idle, isCompacting: busy }) })`,
      { limits: { doubtMs: 50 } },
    );
    expect(await client.prompt('/compact').outcome).toMatchObject({ kind: 'failed', cause: 'no-message' });
  });

  it('J6: what is steered in the last moment is told to be late', async () => {
    const { client } = await start(`on({
      prompt: (request) => { answer(request, { disposition: 'started' }); say({ type: 'agent_start' }); },
      steer: (request) => {
        settle('over');
        say({ type: 'queue_update', steering: [request.message], followUp: [] });
        answer(request, { disposition: 'queued' });
      },
      clear_queue: (request) => answer(request, { steering: ['wait'], followUp: [] }),
    })`);
    const { outcome } = client.prompt('x');
    expect(await client.steer('wait')).toBe('late');
    expect(await outcome).toMatchObject({ kind: 'done', text: 'over' });
    expect(await client.clearQueue()).toEqual({ steering: ['wait'], followUp: [] });
  });
});
