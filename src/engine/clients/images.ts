import { ImageBuildError } from '../errors.ts';
import { jsonLines } from '../json-lines.ts';
import type { Upload } from '../modem.ts';
import type { Transport } from '../transport.ts';
import {
  hasLabels,
  type Json,
  type LabelFilter,
  labelFilters,
  number,
  object,
  objects,
  text,
  textMap,
  texts,
  time,
} from './fields.ts';

export interface ImageInfo {
  id: string;
  tags: string[];
  labels: Record<string, string>;
  sizeBytes: number;
  createdAt: number | undefined;
}

export interface BuildRequest {
  /** A tar of the build context; gzip is fine. */
  context: Upload;
  tags: readonly string[];
  /** Its path in the context. */
  dockerfile?: string;
  target?: string;
  buildArgs?: Readonly<Record<string, string>>;
  labels?: Readonly<Record<string, string>>;
  noCache?: boolean;
  /** The network of the RUN steps, for example `host`. */
  networkMode?: string;
  /** Called with each line of the build's log. */
  onProgress?: (line: string) => void;
  signal?: AbortSignal;
}

export interface ImportRequest {
  /** A tar of the whole root file system. */
  tar: Upload;
  /** `repository:tag`. */
  name: string;
  /** Dockerfile instructions: `ENV A=b`, `USER 1000`, `LABEL x=y`. */
  changes?: readonly string[];
  signal?: AbortSignal;
}

export interface ImageClient {
  inspect(name: string): Promise<ImageInfo | undefined>;
  list(labels: LabelFilter): Promise<ImageInfo[]>;
  /** @throws ImageBuildError with the full log */
  build(request: BuildRequest): Promise<void>;
  importTar(request: ImportRequest): Promise<void>;
  /** Gives an image another `repository:tag`. */
  tag(name: string, other: string): Promise<void>;
  remove(name: string, options?: { force?: boolean }): Promise<'removed' | 'gone' | 'in-use'>;
}

/** The log of a failed build is kept up to this; of a longer one, the end. */
const MAX_LOG_CHARACTERS = 4 * 1024 * 1024;

export function imageClient(transport: Transport): ImageClient {
  const { call } = transport;
  return {
    async inspect(name) {
      const answer = await call({ method: 'GET', path: `/images/${imagePath(name)}/json` });
      if (answer.status === 404) return undefined;
      if (answer.status !== 200) throw transport.failure(`cannot inspect image ${name}`, answer);
      const row = object(answer.json);
      return { ...imageInfo(row), labels: textMap(object(row.Config).Labels) };
    },
    async list(labels) {
      const answer = await call({
        method: 'GET',
        path: '/images/json',
        query: { filters: labelFilters(labels) },
      });
      if (answer.status !== 200) throw transport.failure('cannot list images', answer);
      return objects(answer.json)
        .map(imageInfo)
        .filter((image) => hasLabels(image.labels, labels));
    },
    build: (request) => build(transport, request),
    importTar: (request) => importTar(transport, request),
    tag: (name, other) => tagAs(transport, name, other),
    async remove(name, { force = false } = {}) {
      const answer = await call({ method: 'DELETE', path: `/images/${imagePath(name)}`, query: { force } });
      if (answer.status === 404) return 'gone';
      if (answer.status === 409 || /in use|being used/i.test(answer.message)) return 'in-use';
      if (answer.status !== 200) throw transport.failure(`cannot remove image ${name}`, answer);
      return 'removed';
    },
  };
}

async function build(transport: Transport, request: BuildRequest): Promise<void> {
  const [first, ...others] = request.tags;
  const response = await transport.open({
    method: 'POST',
    path: '/build',
    query: {
      t: first,
      dockerfile: request.dockerfile,
      target: request.target,
      buildargs: JSON.stringify(request.buildArgs ?? {}),
      labels: JSON.stringify(request.labels ?? {}),
      nocache: request.noCache,
      networkmode: request.networkMode,
      rm: true,
      forcerm: true,
    },
    upload: { data: request.context, contentType: 'application/x-tar' },
    timeoutMs: Number.POSITIVE_INFINITY,
    signal: request.signal,
  });
  let log = '';
  let failure = response.statusCode === 200 ? undefined : `the engine answered ${response.statusCode}`;
  for await (const event of jsonLines(response)) {
    const line = text(event.stream) || progressLine(event);
    const error = text(event.error) || text(event.message);
    if (error) failure = error.trim();
    log = (log + (error ? `${error}\n` : line)).slice(-MAX_LOG_CHARACTERS);
    for (const part of line.split('\n').filter((piece) => piece.trim() !== '')) request.onProgress?.(part);
  }
  if (failure !== undefined) {
    throw new ImageBuildError(
      transport.address,
      `cannot build image ${first ?? ''}: ${briefly(failure)}`,
      log,
      {
        status: response.statusCode,
      },
    );
  }
  for (const name of others) await tagAs(transport, first ?? '', name);
}

const MAX_REASON = 200;
const REASON_END = 60;

/** A step that failed is told by its whole command, and how it failed stands behind that; all of it is in the log. */
function briefly(reason: string): string {
  const line = reason.replace(/\s+/g, ' ');
  if (line.length <= MAX_REASON) return line;
  return `${line.slice(0, MAX_REASON - REASON_END - 3)} … ${line.slice(-REASON_END)}`;
}

async function tagAs(transport: Transport, name: string, other: string): Promise<void> {
  // The last colon after the last slash: a registry's port has one as well.
  const [repo = other, tag = 'latest'] = other.split(/:(?=[^/:]*$)/);
  const path = `/images/${imagePath(name)}/tag`;
  const answer = await transport.call({ method: 'POST', path, query: { repo, tag } });
  if (answer.status !== 201) throw transport.failure(`cannot tag image ${name} as ${other}`, answer);
}

/** Pulls of the base image tell a status, and an id for each layer. */
function progressLine(event: Json): string {
  const status = text(event.status);
  if (status === '' || text(event.progress) !== '') return '';
  const id = text(event.id);
  return `${id ? `${id}: ` : ''}${status}\n`;
}

async function importTar(transport: Transport, request: ImportRequest): Promise<void> {
  const { name } = request;
  const response = await transport.open({
    method: 'POST',
    path: '/images/create',
    // The tag within the name: Podman ignores the parameter for it.
    query: { fromSrc: '-', repo: name, changes: request.changes },
    upload: { data: request.tar, contentType: 'application/x-tar' },
    timeoutMs: Number.POSITIVE_INFINITY,
    signal: request.signal,
  });
  let failure = response.statusCode === 200 ? undefined : `the engine answered ${response.statusCode}`;
  for await (const event of jsonLines(response)) {
    failure = text(event.error) || text(event.message) || failure;
  }
  if (failure !== undefined)
    throw transport.failure(`cannot import image ${name}`, { status: 0, json: undefined, message: failure });
}

/** A name's slashes are part of the path; everything else is escaped. */
function imagePath(name: string): string {
  return name.split('/').map(encodeURIComponent).join('/').replaceAll('%3A', ':').replaceAll('%40', '@');
}

function imageInfo(row: Json): ImageInfo {
  return {
    id: text(row.Id),
    // Untagged images have this tag on Docker.
    tags: texts(row.RepoTags).filter((tag) => tag !== '<none>:<none>'),
    labels: textMap(row.Labels),
    sizeBytes: number(row.Size),
    createdAt: time(row.Created),
  };
}
