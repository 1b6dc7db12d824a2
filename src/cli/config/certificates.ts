/** The certificates of a TLS-inspecting proxy that the sandbox has to trust as the host does (S10). */
import { isAbsolute } from 'node:path';
import { ConfigError } from '../../lib/errors.ts';
import type { Config, Environment } from './load.ts';
import { readOwnFile } from './own-file.ts';

const MAX_BYTES = 4 * 1024 * 1024;

export interface Certificates {
  /** PEM certificates and nothing else of the file: a private key beside them stays on the host. */
  readonly content: Buffer;
  readonly from: string;
}

/** From `CA_CERTIFICATES`, else `NODE_EXTRA_CA_CERTS`, else `SSL_CERT_FILE`. @throws ConfigError */
export async function hostCertificates(
  config: Config,
  env: Environment,
): Promise<{ certificates: Certificates | undefined; warnings: readonly string[] }> {
  if (config.CA_CERTIFICATES !== undefined) {
    const where = config.origins.get('CA_CERTIFICATES') ?? 'CA_CERTIFICATES';
    const certificates = await readCertificates(config.CA_CERTIFICATES, `${where}: CA_CERTIFICATES`);
    if (certificates !== undefined) return { certificates, warnings: [] };
    throw new ConfigError(where, `CA_CERTIFICATES names ${config.CA_CERTIFICATES}, which does not exist`);
  }
  const warnings: string[] = [];
  for (const name of ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE']) {
    const path = env[name];
    if (!path) continue;
    const certificates = isAbsolute(path)
      ? await readCertificates(path, `environment variable ${name}`)
      : undefined;
    if (certificates !== undefined) return { certificates, warnings };
    // Programs on the host go on without such a file too, so this is no reason not to start.
    warnings.push(`environment variable ${name}: ${path} is no absolute path of a file and is ignored`);
  }
  return { certificates: undefined, warnings };
}

async function readCertificates(path: string, where: string): Promise<Certificates | undefined> {
  const file = await readOwnFile(path, MAX_BYTES);
  if (file === undefined) return undefined;
  const blocks = file.content
    .toString('latin1')
    .match(/-----BEGIN (TRUSTED )?CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END (TRUSTED )?CERTIFICATE-----/g);
  if (blocks === null) throw new ConfigError(where, `${path} holds no certificate in PEM form`);
  return { content: Buffer.from(`${blocks.join('\n')}\n`, 'latin1'), from: path };
}
