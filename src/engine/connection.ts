import { readFile } from 'node:fs/promises';
import { connect as connectSocket, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { addressOf, type Endpoint, type TlsFiles } from './endpoint.ts';
import { ENGINE_ANSWER_MS, EngineConnectionError } from './errors.ts';

/** Opens one connection to an engine; bounded, so that a dead host cannot hold a command up for ever. */
export async function connectTo(endpoint: Endpoint): Promise<Duplex> {
  switch (endpoint.kind) {
    case 'unix':
      return settled(endpoint, connectSocket({ path: endpoint.socketPath }), 'connect');
    case 'tcp':
      if (endpoint.tls) return connectTls(endpoint, endpoint.tls);
      return settled(
        endpoint,
        connectSocket({ host: endpoint.host, port: endpoint.port, noDelay: true }),
        'connect',
      );
    case 'ssh': {
      const { connectSsh } = await import('./ssh-connection.ts');
      return connectSsh(endpoint);
    }
  }
}

async function connectTls(endpoint: Endpoint & { kind: 'tcp' }, tls: TlsFiles): Promise<Duplex> {
  const { connect } = await import('node:tls');
  const [ca, cert, key] = await Promise.all(
    [tls.ca, tls.cert, tls.key].map((file) => (file === undefined ? undefined : readFile(file))),
  );
  const socket = connect({
    host: endpoint.host,
    port: endpoint.port,
    servername: endpoint.host,
    rejectUnauthorized: tls.verify,
    ...(ca ? { ca } : {}),
    ...(cert ? { cert } : {}),
    ...(key ? { key } : {}),
  });
  return settled(endpoint, socket, 'secureConnect');
}

function settled(endpoint: Endpoint, socket: Socket, ready: 'connect' | 'secureConnect'): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const address = addressOf(endpoint);
      const message = `${address} does not accept a connection within ${ENGINE_ANSWER_MS / 1000} s`;
      socket.destroy(
        new EngineConnectionError(address, message, {
          hint: 'restart the engine, or name another with --engine',
        }),
      );
    }, ENGINE_ANSWER_MS);
    socket.once('error', onError);
    socket.once(ready, () => {
      clearTimeout(timer);
      socket.off('error', onError);
      resolve(socket);
    });
    function onError(error: Error) {
      clearTimeout(timer);
      reject(error);
    }
  });
}
