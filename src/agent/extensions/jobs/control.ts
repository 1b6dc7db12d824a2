/** `steer`, `abort`, `kill` and `answer` of the tool (J12). */
import { askJob, type Asked as Request, readJob } from '../../../jobs/index.ts';
import { jobNamed } from '../../jobs/context.ts';
import type { Parameters, Reply } from './reply.ts';

type Word = 'steer' | 'abort' | 'kill' | 'answer';

const RECEIPTS = {
  delivered: 'It has read it.',
  queued: 'It will read it after what it is doing.',
  'not-running': 'It has ended before it could read it.',
} as const;

/** @throws JobNotRunningError and others of the room's; Error with what the runner refused */
export async function control({ here, teller, asked }: Parameters, word: Word): Promise<Reply> {
  const { directory, record } = await jobNamed(here, asked.needed('job'));
  const give = teller.leaveToTool([directory]);
  try {
    const answer = await askJob(
      here.place,
      directory,
      requestOf(word, () => asked.needed('text')),
    );
    if (!answer.ok) throw new Error(`${record.name}: ${answer.error.message}`);
    if (answer.receipt !== undefined) return { text: RECEIPTS[answer.receipt] };
    if (word === 'answer') return { text: 'It goes on.' };
    const job = await readJob(directory);
    return { text: `Job "${record.name}": ${job.status}.`, jobs: [job] };
  } finally {
    give();
  }
}

function requestOf(word: Word, text: () => string): Request {
  switch (word) {
    case 'steer':
      return { op: 'steer', text: text() };
    case 'answer':
      return { op: 'answer', value: text() };
    case 'abort':
      return { op: 'abort' };
    case 'kill':
      return { op: 'kill' };
  }
}
