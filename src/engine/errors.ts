import { hasCode, messageOf, OperationError } from '../lib/errors.ts';

interface EngineErrorFacts {
  status?: number | undefined;
  hint?: string | undefined;
  cause?: unknown;
}

/** The engine answered and refused, or could not be talked to; `engine` is its address as a user would write it. */
export class EngineError extends OperationError {
  readonly engine: string;
  /** The HTTP status of the answer; undefined when there was none. */
  readonly status: number | undefined;

  constructor(engine: string, message: string, facts: EngineErrorFacts = {}) {
    super(message, facts);
    this.engine = engine;
    this.status = facts.status;
  }
}

/** There is no talking to the engine: refused, forbidden, lost, or silent. */
export class EngineConnectionError extends EngineError {}

/** A container's network is gone: Docker finds that out when the container starts, Podman when it is attached to. */
export class NoSuchNetworkError extends EngineError {}

/** No strategy found an engine; the message lists each one tried and why it failed. */
export class NoEngineFoundError extends OperationError {}

/** An image build failed; `log` is everything the engine said, for printing in full (S21). */
export class ImageBuildError extends EngineError {
  readonly log: string;

  constructor(engine: string, message: string, log: string, facts: EngineErrorFacts = {}) {
    super(engine, message, facts);
    this.log = log;
  }
}

/** How long a connection, or a first answer, may take before the engine counts as hanging (S19). */
export const ENGINE_ANSWER_MS = 5_000;

const PERMISSION_HINT =
  'add your user to the docker group (sudo usermod -aG docker "$USER", then log in again) or use sudo';
const START_HINT =
  'start the engine (for example: sudo systemctl start docker), or name another with --engine';

/** Why `address` could not be connected to, in words without a stack of codes. */
export function connectionProblem(address: string, error: unknown): { message: string; hint?: string } {
  if (hasCode(error, 'EACCES', 'EPERM')) {
    return { message: `permission denied on ${address}`, hint: PERMISSION_HINT };
  }
  if (hasCode(error, 'ENOENT')) return { message: `${address} does not exist`, hint: START_HINT };
  if (hasCode(error, 'ENOTSOCK')) return { message: `${address} is not a socket`, hint: START_HINT };
  if (hasCode(error, 'ECONNREFUSED')) return { message: `nothing listens on ${address}`, hint: START_HINT };
  if (hasCode(error, 'EAGAIN', 'ETIMEDOUT')) {
    return {
      message: `${address} does not accept connections (its daemon hangs?)`,
      hint: 'restart the engine',
    };
  }
  if (hasCode(error, 'ENOTFOUND', 'EAI_AGAIN')) return { message: `${address}: no such host` };
  if (hasCode(error, 'ECONNRESET', 'EPIPE')) {
    return { message: `${address} closed the connection`, hint: 'see whether the engine is still running' };
  }
  return { message: `${address}: ${messageOf(error)}` };
}

/** The error of a connection that failed, told with how the engine was chosen. */
export function connectionError(address: string, foundBy: string, error: unknown): EngineConnectionError {
  if (error instanceof EngineConnectionError) return error;
  const { message, hint } = connectionProblem(address, error);
  return new EngineConnectionError(address, `engine (${foundBy}): ${message}`, { hint, cause: error });
}
