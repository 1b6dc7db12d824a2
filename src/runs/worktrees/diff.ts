/**
 * All that a worktree has more than the commit it began at: committed, staged, changed and new (R5). An index of our own is used, so
 * that the agent's stays as it is, and new files are only announced in it: nothing is written into the repository.
 */
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { writeFileAtomic } from '../../lib/atomic-file.ts';
import { openRegularFile, readRegularFile } from '../../lib/bounded-read.ts';
import { FileError } from '../../lib/file-error.ts';
import { randomId } from '../../lib/ids.ts';
import { RunError } from '../errors.ts';
import type { StepId } from '../ids.ts';
import { LIMITS } from '../limits.ts';
import { diffArtifact, type RunDirectory } from '../places.ts';
import { type Git, succeed } from './git.ts';
import { inTree, type Tree } from './tree.ts';

/** Names of new files. */
const NAMES_BYTES = 16 * 1_024 * 1_024;
/** For the line that says that there is more. */
const LAST_LINE_BYTES = 512;
const CUT = '\\ Cut here: ';

const DIFF = [
  'diff',
  '--binary',
  '--no-color',
  '--no-ext-diff',
  '--no-textconv',
  '--src-prefix=a/',
  '--dst-prefix=b/',
  '--submodule=short',
];

/** Whole or absent. @throws RunError `failed` when git cannot look; FileError */
export async function writeTreeDiff(git: Git, run: RunDirectory, step: StepId, tree: Tree): Promise<void> {
  const { gitDirectory, path, stands, record } = tree;
  if (stands !== 'directory' || gitDirectory === undefined)
    throw new RunError(
      'failed',
      `the diff of step ${step} cannot be made: its worktree ${path} is not whole`,
    );
  const index = join(dirname(path), `.index-${randomId()}`);
  try {
    await copyIndex(join(gitDirectory, 'index'), index);
    const options = { cwd: path, variables: { GIT_INDEX_FILE: index } };
    const at = inTree(gitDirectory, path);
    const doing = `make the diff of step ${step}`;
    const others = [...at, 'ls-files', '--others', '--exclude-standard', '-z'];
    const news = await git(others, { ...options, maxBytes: NAMES_BYTES });
    if (news.code !== 0 && !news.cut) throw new RunError('failed', `cannot ${doing}: ${news.complaint}`);
    const input = announced(news.stdout);
    const add = [
      ...at,
      'add',
      '--intent-to-add',
      '--sparse',
      '--pathspec-from-file=-',
      '--pathspec-file-nul',
    ];
    if (input.length > 0) await succeed(git, doing, add, { ...options, input });
    const words = [...at, ...DIFF, record.baseCommit, '--'];
    const diff = await git(words, { ...options, maxBytes: LIMITS.outputBytes });
    if (diff.code !== 0 && !diff.cut) throw new RunError('failed', `cannot ${doing}: ${diff.complaint}`);
    const content = diff.cut || news.cut ? cutDiff(diff.stdout, path) : diff.stdout;
    await writeFileAtomic(diffArtifact(run, step), content, { follow: false });
  } finally {
    await Promise.all([index, `${index}.lock`].map((file) => rm(file, { force: true })));
  }
}

/** What is known of unchanged files need not be found out again. */
async function copyIndex(from: string, to: string): Promise<void> {
  const handle = await openRegularFile(from);
  if (handle === undefined) return;
  try {
    await pipeline(handle.createReadStream(), createWriteStream(to, { flags: 'wx', mode: 0o600 }));
  } catch (error) {
    throw new FileError('copy', from, error);
  }
}

/** Whole names of new files, and not of repositories that lie in the tree, which have a history of their own. */
function announced(names: Buffer): Buffer {
  const whole = names.subarray(0, names.lastIndexOf(0) + 1);
  const pieces: Buffer[] = [];
  for (let start = 0; start < whole.length; ) {
    const end = whole.indexOf(0, start);
    if (whole[end - 1] !== 0x2f) pieces.push(whole.subarray(start, end + 1));
    start = end + 1;
  }
  return Buffer.concat(pieces);
}

/** Whether there is a diff of a step, with all that its worktree had when it ended. */
export async function hasWholeDiff(run: RunDirectory, step: StepId): Promise<boolean> {
  const diff = await readRegularFile(diffArtifact(run, step), { maxBytes: LIMITS.outputBytes });
  return diff !== undefined && !diff.subarray(-LAST_LINE_BYTES).includes(`\n${CUT}`);
}

function cutDiff(diff: Buffer, path: string): Buffer {
  const room = diff.subarray(0, LIMITS.outputBytes - LAST_LINE_BYTES);
  const lines = room.subarray(0, room.lastIndexOf(0x0a) + 1);
  const last = `${CUT}the diff has more than ${LIMITS.outputBytes} bytes. All of it is in ${path}`;
  return Buffer.concat([lines, Buffer.from(`${last}\n`).subarray(0, LAST_LINE_BYTES)]);
}
