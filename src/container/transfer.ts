/**
 * The program of the helper container that brings Sessions or sign-ins into a volume, or sign-ins out of one (S15). It
 * runs as the volume's owner, without a network or any capability. The request is its argument, the answer one JSON
 * value on standard output.
 */
import { ArrivalReport, openArrival, receiveSessions } from '../history/index.ts';
import { messageOf, PiSandboxError } from '../lib/errors.ts';
import { type TransferMessage, TransferRequest } from '../wire/index.ts';
import { receiveSignIns, sendSignIns } from './transfer/sign-ins.ts';

function say(message: TransferMessage): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

async function serve(request: TransferRequest): Promise<TransferMessage> {
  switch (request.verb) {
    case 'receive-sessions': {
      const destination = openArrival(request.root);
      try {
        const report = await receiveSessions(process.stdin, destination, { word: 'imported' });
        return { step: 'received', report: ArrivalReport.parse(report) };
      } finally {
        destination.close();
      }
    }
    case 'receive-sign-ins':
      return { step: 'sign-ins-received', outcomes: await receiveSignIns(request, process.stdin) };
    case 'send-sign-ins':
      return { step: 'sign-ins', ...sendSignIns(request) };
  }
}

async function main(): Promise<void> {
  // Whoever asked may be gone.
  process.stdout.on('error', () => undefined);
  say(await serve(TransferRequest.parse(JSON.parse(process.argv[2] ?? 'null'))));
}

main().catch((error: unknown) => {
  const hint = error instanceof PiSandboxError ? error.hint : undefined;
  say({ step: 'failed', message: messageOf(error), ...(hint === undefined ? {} : { hint }) });
  // Whatever is still on its way in is nobody's any more.
  process.stdin.destroy();
});
