/** `IMAGE_EXTRA` (S22): the user's own Dockerfile lines, built on top of the session image. */
import { readFileSync, statSync } from 'node:fs';
import { ConfigError, messageOf } from '../../lib/errors.ts';
import type { ContextFile } from './image-context.ts';

const MAX_FRAGMENT = 1024 * 1024;

/**
 * @returns the fragment's text.
 * @throws ConfigError when it cannot be read or brings a FROM of its own: the last stage must be the session image.
 */
export function readFragment(path: string): string {
  let text: string;
  try {
    const stat = statSync(path);
    if (!stat.isFile()) throw new Error('not a regular file');
    if (stat.size > MAX_FRAGMENT) throw new Error(`more than ${MAX_FRAGMENT / 1024} KiB`);
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigError('IMAGE_EXTRA', `cannot read ${path}: ${messageOf(error)}`);
  }
  const line = text.split('\n').findIndex((candidate) => /^\s*(FROM|ENTRYPOINT|ONBUILD)\b/i.test(candidate));
  if (line >= 0) {
    const word = text.split('\n')[line]?.trim().split(/\s/)[0] ?? '';
    throw new ConfigError(
      `${path}:${line + 1}`,
      `${word} is not allowed: the fragment goes on from the session image`,
      {
        hint: 'use RUN, ENV, USER, and COPY --from=<image> to take files from another image',
      },
    );
  }
  return text;
}

/** The context of the second build: one Dockerfile and nothing else. */
export function fragmentContext(base: string, fragment: string): ContextFile[] {
  return [{ path: 'Dockerfile', content: Buffer.from(`FROM ${base}\n${fragment}\n`), executable: false }];
}
