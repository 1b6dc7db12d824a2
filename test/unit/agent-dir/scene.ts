/** An agent directory for a test, written down as paths and contents. */
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type AgentDir, agentDirAt, openAgentDir } from '../../../src/agent-dir/index.ts';
import type { DirectoryHandle } from '../../../src/lib/directory-handle.ts';

/** Paths with their content; `link:x` is a link to x, and a path that ends in a slash an empty directory. */
export type Tree = Readonly<Record<string, string>>;

export function scratch(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'agent-dir-')));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

export function plant(root: string, tree: Tree): void {
  for (const [path, content] of Object.entries(tree)) {
    const place = join(root, path);
    mkdirSync(path.endsWith('/') ? place : dirname(place), { recursive: true });
    if (path.endsWith('/')) continue;
    if (content.startsWith('link:')) symlinkSync(content.slice(5), place);
    else writeFileSync(place, content);
  }
}

/** An agent directory that holds the tree. */
export function agentDirWith(tree: Tree): AgentDir {
  const root = join(scratch(), 'agent');
  mkdirSync(root);
  plant(root, tree);
  return agentDirAt(root);
}

/** What is there, as {@link plant} would write it; lock files are left out. */
export function treeOf(root: string, below = ''): Record<string, string> {
  const found: Record<string, string> = {};
  const names = readdirSync(join(root, below)).sort();
  if (names.length === 0 && below !== '') found[`${below}/`] = '';
  for (const name of names) {
    const path = below === '' ? name : `${below}/${name}`;
    const facts = lstatSync(join(root, path));
    if (/^\.[a-z-]+\.lock$/.test(name)) continue;
    if (facts.isDirectory()) Object.assign(found, treeOf(root, path));
    else
      found[path] = facts.isSymbolicLink()
        ? `link:${readlinkSync(join(root, path))}`
        : readFileSync(join(root, path), 'utf8');
  }
  return found;
}

/** Open until the test's end. */
export function opened(agentDir: AgentDir): DirectoryHandle {
  const handle = openAgentDir(agentDir);
  if (handle === undefined) throw new Error(`there is no ${agentDir}`);
  onTestFinished(() => handle.close());
  return handle;
}
