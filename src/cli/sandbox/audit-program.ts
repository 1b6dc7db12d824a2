/** Has the agent directories of a sandbox looked at (W12), where it runs, else in its volumes. */
import type { Readable } from 'node:stream';
import { pathsOf, type Roots, sandboxRoots } from '../../agent-dir/index.ts';
import type { Engine } from '../../engine/index.ts';
import { LimitError, OperationError, TimeoutError } from '../../lib/errors.ts';
import {
  AUDIT_ANSWER_BYTES,
  AUDIT_VERSION,
  type AuditAnswer,
  type AuditRequest,
  auditAnswer,
} from '../../wire/index.ts';
import type { Sandbox } from './sandbox.ts';
import { requireHelperSuccess, useHelper } from './volumes.ts';

const PROGRAM = ['/usr/local/bin/node', '/opt/pi-sandbox/audit.mjs'];
const ANSWER_MS = 20_000;

/** What a helper container sees in place of a sandbox's mounts. */
const MOUNTED = { shared: '/volumes/agent-state', domain: '/volumes/domain-state' };

/** How the places are called: where what is found there really lies. */
export const PLACES = { sandbox: 'the sandbox', shared: 'the shared volume', domain: 'the domain volume' };

/**
 * What is found in each place that there is; undefined when the sandbox has none yet.
 *
 * @param image the current image's name
 * @throws OperationError, LimitError, TimeoutError
 */
export async function auditSandbox(
  engine: Engine,
  sandbox: Sandbox,
  image: string,
): Promise<AuditAnswer | undefined> {
  const roots = sandboxRoots(sandbox.user.uid);
  const running = await engine.containers.inspect(sandbox.name);
  // One of an older image may have no such program.
  if (running?.state === 'running' && running.image.replace(/^localhost\//, '') === image) {
    const command = [...PROGRAM, requestFor(roots, { running: true })];
    const session = await engine.containers.exec(running.id, { command });
    if (session.outcome === 'running') {
      session.stderr.resume();
      try {
        return parse(await textOf(session.stdout));
      } finally {
        session.disconnect();
      }
    }
  }
  return auditVolumes(engine, sandbox, image, roots);
}

async function auditVolumes(
  engine: Engine,
  sandbox: Sandbox,
  image: string,
  roots: Roots,
): Promise<AuditAnswer | undefined> {
  const { agentState, domainState } = sandbox.volumes;
  const mounts = await Promise.all(
    [
      { source: agentState, target: MOUNTED.shared },
      { source: domainState, target: MOUNTED.domain },
    ].map(async (mount) => {
      // The engine would make one that is not there.
      const there = (await engine.volumes.inspect(mount.source)) !== undefined;
      return there ? [{ type: 'volume' as const, readOnly: true, ...mount }] : [];
    }),
  );
  if (mounts.flat().length === 0) return undefined;
  const { uid, gid } = sandbox.user;
  const { value, end } = await useHelper(
    engine,
    {
      sandbox,
      image,
      user: `${uid}:${gid}`,
      capabilities: [],
      command: [...PROGRAM, requestFor({ ...roots, ...MOUNTED }, { running: false })],
      mounts: mounts.flat(),
    },
    textOf,
  );
  requireHelperSuccess(end);
  return parse(value);
}

function requestFor(roots: Roots, { running }: { running: boolean }): string {
  const { agent, sharedAgent, domainAgent } = pathsOf(roots);
  const places: AuditRequest['places'] = [
    { where: PLACES.shared, path: sharedAgent, skipLinks: false },
    { where: PLACES.domain, path: domainAgent, skipLinks: false },
  ];
  // It is made of links in the container's memory; what else is there goes to the domain at the end.
  if (running) places.push({ where: PLACES.sandbox, path: agent, skipLinks: true });
  return JSON.stringify({ version: AUDIT_VERSION, places });
}

function parse(output: string): AuditAnswer {
  try {
    return auditAnswer().parse(JSON.parse(output));
  } catch {
    throw new OperationError('what looked at the agent directory did not answer in its form', {
      hint: 'the sandbox may be of another version: pi-sandbox stop, then try again',
    });
  }
}

async function textOf(stream: Readable): Promise<string> {
  const timer = setTimeout(() => {
    stream.destroy(new TimeoutError(`no answer about the agent directory within ${ANSWER_MS / 1_000} s`));
  }, ANSWER_MS);
  try {
    const pieces: Buffer[] = [];
    let length = 0;
    for await (const piece of stream) {
      const bytes = Buffer.from(piece);
      length += bytes.length;
      if (length > AUDIT_ANSWER_BYTES)
        throw new LimitError('the answer about the agent directory is too long');
      pieces.push(bytes);
    }
    return Buffer.concat(pieces).toString('utf8');
  } finally {
    clearTimeout(timer);
  }
}
