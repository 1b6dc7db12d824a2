/** What can go wrong with a work run, beside the file system's own refusals (`FileError`). */
import { OperationError, TimeoutError, UsageError } from '../lib/errors.ts';

/** At a run's place stands something that no manifest of ours says is that run: it is neither used nor deleted (W4). */
export class UnownedDirectoryError extends OperationError {
  readonly path: string;

  constructor(path: string, reason: string) {
    super(`${path} is not a work run: ${reason}`, {
      hint: 'it is left alone; choose another run id, or move it away',
    });
    this.path = path;
  }
}

/** Others keep joining, removing or pruning the same thing, for longer than was waited. */
export class WorkBusyError extends TimeoutError {
  readonly path: string;

  constructor(path: string, what: string, waitedMs: number) {
    super(`${path} ${what}, for ${waitedMs / 1_000} s now`, { hint: 'try again when that is done' });
    this.path = path;
  }
}

/** The run's directory is not there any more, or is another one: somebody else removed it. */
export class WorkRunGoneError extends OperationError {
  readonly path: string;

  constructor(path: string) {
    super(`the work run ${path} is gone`, { hint: 'acquire a new one' });
    this.path = path;
  }
}

/** A limit of a retention that is no number, or beyond its ceiling (W7). */
export class RetentionError extends UsageError {
  readonly limit: string;

  constructor(limit: string, reason: string) {
    super(`${limit} of a work retention ${reason}`);
    this.limit = limit;
  }
}

/** Another extension of this process has the namespace (W3). */
export class NamespaceTakenError extends OperationError {
  readonly namespace: string;

  constructor(namespace: string) {
    super(`the storage namespace "${namespace}" is in use in this process`, {
      hint: 'keep the storage that getStorage gave, or choose another namespace',
    });
    this.namespace = namespace;
  }
}

/** The storage was released, as when pi unloads its extensions; get a new one. */
export class StorageReleasedError extends OperationError {
  readonly namespace: string;

  constructor(namespace: string) {
    super(`the storage "${namespace}" was released`, { hint: 'get it anew with getStorage' });
    this.namespace = namespace;
  }
}

/** Neither Linux nor macOS. */
export class WorkUnsupportedError extends OperationError {
  constructor(platform: string) {
    super(`work directories need Linux or macOS, this is ${platform}`);
  }
}
