/** A git server that speaks real SSH: it takes one public key and serves one bare repository. */
import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import ssh2 from 'ssh2';

export interface GitServer {
  readonly port: number;
  /** How often somebody signed in with the key. */
  readonly logins: () => number;
  close(): void;
}

/** @param address of this machine that the sandbox reaches; @param key as in a `.pub` file */
export async function gitServer(address: string, key: string, repository: string): Promise<GitServer> {
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2_048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  const allowed = ssh2.utils.parseKey(key);
  if (allowed instanceof Error) throw allowed;
  let logins = 0;
  const server = new ssh2.Server({ hostKeys: [privateKey] }, (client) => {
    client.on('error', () => undefined);
    client.on('authentication', (attempt) => {
      const right = attempt.method === 'publickey' && attempt.key.data.equals(allowed.getPublicSSH());
      if (!right) return attempt.reject(['publickey']);
      if (attempt.signature === undefined || attempt.blob === undefined) return attempt.accept();
      if (allowed.verify(attempt.blob, attempt.signature, attempt.hashAlgo) !== true) return attempt.reject();
      logins++;
      attempt.accept();
    });
    client.on('session', (accept) => {
      accept().on('exec', (acceptExec, _reject, { command }) => {
        const channel = acceptExec();
        const verb = /^(git-receive-pack|git-upload-pack) /.exec(command)?.[1];
        if (verb === undefined) return void channel.exit(1);
        const git = spawn(verb, [repository]);
        channel.pipe(git.stdin);
        git.stdout.pipe(channel, { end: false });
        git.stderr.pipe(channel.stderr, { end: false });
        git.on('close', (code) => {
          channel.exit(code ?? 1);
          channel.end();
        });
      });
    });
  });
  server.listen(0, address);
  await once(server, 'listening');
  const bound = server.address();
  const port = bound !== null && typeof bound === 'object' ? bound.port : 0;
  return { port, logins: () => logins, close: () => server.close() };
}
