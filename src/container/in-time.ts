import { messageOf } from '../lib/errors.ts';

/** Waits for work for a bounded time: `done`, `too slow`, or why it failed. Never rejects. */
export async function inTime(milliseconds: number, work: Promise<unknown>): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve('too slow'), milliseconds);
  });
  try {
    return await Promise.race([work.then(() => 'done'), late]);
  } catch (error) {
    return messageOf(error);
  } finally {
    clearTimeout(timer);
  }
}
