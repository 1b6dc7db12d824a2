/**
 * Tells the sandbox's supervisor that something lives here, for as long as it does: one connection that is simply kept
 * (S14). Without a supervisor, or when it goes away, pi and its jobs work on as if nothing were.
 */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { LivingHere } from './presence-greeting.ts';

export interface Presence {
  /** Says what is open now. The old connection ends only when the new one stands, so that there is no gap. */
  announce(living: LivingHere): Promise<void>;
  close(): void;
}

const CONNECT_MS = 2_000;
const MAX_TOKEN_CHARACTERS = 4_096;

export function makePresence(env: NodeJS.ProcessEnv): Presence {
  let current: Socket | undefined;
  let latest = 0;
  return {
    async announce(living) {
      const turn = ++latest;
      const socket = await open(env, living);
      if (turn !== latest) {
        socket?.destroy();
        return;
      }
      current?.destroy();
      current = socket;
    },
    close() {
      latest++;
      current?.destroy();
      current = undefined;
    },
  };
}

/** The connection once the supervisor has answered; undefined when there is none or it refuses. */
async function open(env: NodeJS.ProcessEnv, living: LivingHere): Promise<Socket | undefined> {
  const runtime = env.XDG_RUNTIME_DIR;
  if (!runtime) return undefined;
  const directory = join(runtime, 'pi-sandbox');
  const token = readToken(join(directory, 'token'));
  if (token === undefined) return undefined;
  // Loaded here, after the start: the wire's schemas are no part of it.
  const { presenceGreeting } = await import('./presence-greeting.ts');
  return await converse(join(directory, 'supervisor.sock'), presenceGreeting(living, token));
}

function converse(path: string, greeting: Buffer): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path);
    // Neither the socket nor the wait may keep us from ending, and no failure of it is ours.
    socket.unref();
    const timer = setTimeout(() => socket.destroy(), CONNECT_MS);
    timer.unref();
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.write(greeting);
      resolve(socket);
    });
    // What the supervisor says is of no interest, but it must be taken so that its end is noticed.
    socket.resume();
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      clearTimeout(timer);
      resolve(undefined);
    });
  });
}

function readToken(file: string): string | undefined {
  try {
    const token = readFileSync(file, 'utf8').trim();
    return token === '' || token.length > MAX_TOKEN_CHARACTERS ? undefined : token;
  } catch {
    return undefined;
  }
}
