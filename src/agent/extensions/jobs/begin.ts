/** `start` and `resume` of the tool: as the command's own, but that pi goes on and is told of the end. */
import { createJob } from '../../../jobs/index.ts';
import { jobNamed } from '../../jobs/context.ts';
import { prepareJob } from '../../jobs/prepare.ts';
import { reopen } from '../../jobs/resume.ts';
import { launch } from '../../jobs/start.ts';
import type { Parameters, Reply } from './reply.ts';

export async function begin({ here, teller, asked }: Parameters): Promise<Reply> {
  const prompt = asked.needed('prompt');
  const seconds = asked.number('timeout');
  const words = Object.fromEntries(
    (['name', 'profile', 'model', 'thinking', 'tools', 'cwd'] as const).flatMap((name) => {
      const text = asked.text(name);
      return text === undefined ? [] : [[name, text]];
    }),
  );
  const options = { ...words, ...(seconds === undefined ? {} : { timeout: seconds * 1_000 }) };
  const spec = await prepareJob(here, { prompt, piArguments: [], runMode: 'background' }, options);
  const held = await createJob(here.place, spec, here.deps);
  await launch(here, held);
  teller.follow(held.directory);
  return { text: `Job "${held.record.name}" has started. You will be told when it ends.` };
}

export async function goOn({ here, teller, asked }: Parameters): Promise<Reply> {
  const { directory, record } = await jobNamed(here, asked.needed('job'));
  const seconds = asked.number('timeout');
  const held = await reopen(here, directory, asked.needed('prompt'), {
    ...(seconds === undefined ? {} : { timeout: seconds * 1_000 }),
  });
  await launch(here, held);
  teller.follow(directory);
  return { text: `Job "${record.name}" goes on. You will be told when it ends.` };
}
