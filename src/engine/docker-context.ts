import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod/mini';
import { ConfigError, hasCode, LimitError, UsageError } from '../lib/errors.ts';
import { type Endpoint, parseEndpoint, tlsFilesIn } from './endpoint.ts';

const MAX_FILE_BYTES = 1024 * 1024;

const dockerConfig = z.object({ currentContext: z.optional(z.string()) });

const contextMeta = z.object({
  Name: z.string(),
  Endpoints: z.object({
    docker: z.object({ Host: z.optional(z.string()), SkipTLSVerify: z.optional(z.boolean()) }),
  }),
});

/** The context that `docker context use` made current, or undefined; docker's own `default` counts as none. */
export async function currentContext(configDir: string): Promise<string | undefined> {
  const file = path.join(configDir, 'config.json');
  const text = await readBounded(file);
  if (text === undefined) return undefined;
  const name = parseAs(dockerConfig, file, text).currentContext;
  return name === undefined || name === '' || name === 'default' ? undefined : name;
}

/**
 * The endpoint a docker context names. docker keeps each context under the sha256 of its name.
 * @throws UsageError when there is no such context
 */
export async function contextEndpoint(where: string, configDir: string, name: string): Promise<Endpoint> {
  const id = createHash('sha256').update(name).digest('hex');
  const file = path.join(configDir, 'contexts', 'meta', id, 'meta.json');
  const text = await readBounded(file);
  if (text === undefined) {
    throw new UsageError(`${where}: there is no docker context named ${JSON.stringify(name)}`, {
      hint: 'list them with: docker context ls',
    });
  }
  const docker = parseAs(contextMeta, file, text).Endpoints.docker;
  if (docker.Host === undefined) throw new ConfigError(file, 'the context has no docker endpoint');
  const tlsDir = path.join(configDir, 'contexts', 'tls', id, 'docker');
  const tls = existsSync(tlsDir) ? tlsFilesIn(tlsDir, docker.SkipTLSVerify !== true) : undefined;
  return parseEndpoint(`${where}: context ${JSON.stringify(name)}`, docker.Host, tls);
}

async function readBounded(file: string): Promise<string | undefined> {
  try {
    await using handle = await open(file, 'r');
    const { size } = await handle.stat();
    if (size > MAX_FILE_BYTES) throw new LimitError(`${file} is larger than ${MAX_FILE_BYTES} bytes`);
    return await handle.readFile('utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    if (hasCode(error, 'EACCES')) return undefined; // e.g. root's docker config under sudo: docker ignores it as well
    throw error;
  }
}

function parseAs<T>(schema: z.ZodMiniType<T>, file: string, text: string): T {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new ConfigError(file, 'is not valid JSON', { cause: error });
  }
  const result = schema.safeParse(json);
  if (!result.success) throw new ConfigError(file, result.error.issues[0]?.message ?? 'has an unknown shape');
  return result.data;
}
