/** What programs leave in a run, by accident or on purpose: none of it may lead a prune out of the run (W6, rule 8). */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openDirectory } from '../../../src/lib/directory-handle.ts';
import { deleteContent } from '../../../src/work/delete-tree.ts';
import { acquireRun } from '../../../src/work/index.ts';
import { smallDisk } from '../lib/temporary.ts';
import { CATEGORY, clockAt, daysAgo, makeScene, NAME, NOW, runToEnd, type Scene, TENANT } from './scene.ts';

const AS_ROOT = process.getuid?.() === 0;

/** A run with what a test puts in it, old enough to go. */
async function oldRun(scene: Scene, fill: (path: string) => void): Promise<string> {
  const run = await acquireRun(scene.root, { ...NAME, runId: 'r' }, { clock: clockAt(daysAgo(40)) });
  fill(run.path);
  await run.release();
  return run.path;
}

/** So many directories, each in the one before. */
function deep(from: string, depth: number): void {
  // A path has at most 4,096 bytes, so they are made in pieces, the deepest first.
  let below: string | undefined;
  for (let left = depth; left > 0; left -= 1_000) {
    const top = mkdtempSync(join(from, 'deep-'));
    const bottom = join(top, 'd/'.repeat(Math.min(left, 1_000)));
    mkdirSync(bottom, { recursive: true });
    writeFileSync(join(bottom, 'f'), '');
    if (below !== undefined) renameSync(below, join(bottom, 'd'));
    below = top;
  }
}

describe('a prune meets', () => {
  it('W6: links, and removes them alone', async () => {
    const scene = makeScene();
    writeFileSync(join(scene.outside, 'kept'), 'x');
    await oldRun(scene, (path) => {
      symlinkSync(scene.outside, join(path, 'directory'));
      symlinkSync(join(scene.outside, 'kept'), join(path, 'file'));
      symlinkSync('/', join(path, 'root'));
      symlinkSync('.', join(path, 'loop'));
      symlinkSync('nowhere', join(path, 'dangling'));
    });
    expect((await scene.prune()).problems.items).toEqual([]);
    expect(existsSync(scene.tenant)).toBe(false);
    expect(readFileSync(join(scene.outside, 'kept'), 'utf8')).toBe('x');
  });

  it('W6: a hard link to a file outside, which stays as it is', async () => {
    const scene = makeScene();
    const kept = join(scene.outside, 'kept');
    writeFileSync(kept, 'x', { mode: 0o644 });
    const before = statSync(kept);
    await oldRun(scene, (path) => linkSync(kept, join(path, 'other-name')));
    await scene.prune();
    const { mode, mtimeMs, nlink } = statSync(kept);
    expect({ mode, mtimeMs, nlink }).toEqual({ mode: before.mode, mtimeMs: before.mtimeMs, nlink: 1 });
    expect(readFileSync(kept, 'utf8')).toBe('x');
  });

  it('W6: files of the room’s own that are hard links to files outside, which stay as they are', async () => {
    const scene = makeScene();
    const kept = join(scene.outside, 'kept');
    writeFileSync(kept, 'x', { mode: 0o644 });
    await oldRun(scene, (path) => {
      linkSync(join(path, '.pi-work-run.json'), join(scene.outside, 'manifest'));
      linkSync(kept, join(path, '.leases', `${'a'.repeat(32)}.lease`));
    });
    const manifest = readFileSync(join(scene.outside, 'manifest'), 'utf8');
    await scene.prune();
    expect(scene.runs()).toEqual(['r']);
    rmSync(join(scene.tenant, 'r/.leases', `${'a'.repeat(32)}.lease`));
    await scene.prune();
    expect(scene.runs()).toEqual([]);
    expect(readFileSync(join(scene.outside, 'manifest'), 'utf8')).toBe(manifest);
    linkSync(kept, join(scene.root, '.pi-work/deletions.log.1'));
    rmSync(join(scene.root, '.pi-work/deletions.log'));
    renameSync(join(scene.root, '.pi-work/deletions.log.1'), join(scene.root, '.pi-work/deletions.log'));
    await oldRun(scene, () => {});
    await expect(scene.prune()).rejects.toThrow('another name');
    expect(scene.runs()).toEqual(['r']);
    expect(readFileSync(kept, 'utf8')).toBe('x');
    expect(statSync(kept).mode & 0o777).toBe(0o644);
  });

  it('W6: another file system mounted in a run, which is left with what it holds until it is gone', async (context) => {
    const disk = smallDisk(64);
    if ('skip' in disk) return context.skip(disk.skip);
    const scene = makeScene();
    writeFileSync(join(disk.path, 'kept'), 'x');
    const path = await oldRun(scene, (run) => {
      mkdirSync(join(run, 'a/mounted'), { recursive: true });
      writeFileSync(join(run, 'a/f'), '');
    });
    execFileSync('mount', ['--bind', disk.path, join(path, 'a/mounted')]);
    let mounted = join(path, 'a/mounted');
    onTestFinished(() => {
      if (mounted !== '') execFileSync('umount', [mounted]);
    });
    const report = await scene.prune();
    const [tombstone = ''] = scene.ours().filter((name) => name.startsWith('.tombstone-'));
    mounted = join(scene.tenant, tombstone, 'a/mounted');
    expect(report.problems.items).toMatchObject([
      {
        path: `${CATEGORY}/${TENANT}/${tombstone}`,
        kind: 'unfinished',
        reason: expect.stringContaining('another file system'),
      },
    ]);
    expect(readFileSync(join(disk.path, 'kept'), 'utf8')).toBe('x');
    // Whose it is still stands there, so the next prune can go on.
    execFileSync('umount', [mounted]);
    mounted = '';
    expect((await scene.prune()).problems.items).toEqual([]);
    expect(existsSync(scene.tenant)).toBe(false);
  });

  it('W6: a directory of the same file system mounted in a run, whose content stays too', async (context) => {
    if (!AS_ROOT) return context.skip('only root can mount');
    const scene = makeScene();
    writeFileSync(join(scene.outside, 'kept'), Buffer.alloc(600 * 1024, 1));
    const path = await scene.run('r', { days: 1 });
    mkdirSync(join(path, 'mounted'));
    execFileSync('mount', ['--bind', scene.outside, join(path, 'mounted')]);
    let mounted = join(path, 'mounted');
    try {
      await scene.prune({ maxBytes: 256 * 1024 });
      expect(scene.runs(), 'what it holds is not the run’s size').toEqual(['r']);
      const report = await scene.prune({ maxRuns: 0 });
      const [tombstone = ''] = scene.ours().filter((name) => name.startsWith('.tombstone-'));
      mounted = join(scene.tenant, tombstone, 'mounted');
      expect(report.problems.items).toMatchObject([{ kind: 'unfinished' }]);
      expect(readdirSync(scene.outside)).toEqual(['kept']);
    } finally {
      execFileSync('umount', [mounted]);
    }
  });

  it('W7: a mount in a run that stays: what it holds is not the run’s size', async (context) => {
    const disk = smallDisk(1_024);
    if ('skip' in disk) return context.skip(disk.skip);
    const scene = makeScene();
    const path = await scene.run('r');
    writeFileSync(join(disk.path, 'large'), Buffer.alloc(600 * 1024, 1));
    mkdirSync(join(path, 'mounted'));
    execFileSync('mount', ['--bind', disk.path, join(path, 'mounted')]);
    try {
      await scene.prune({ maxBytes: 256 * 1024 });
      expect(scene.runs()).toEqual(['r']);
    } finally {
      execFileSync('umount', [join(path, 'mounted')]);
    }
  });

  it('W6: directories 3,000 deep, with a bounded number of them open', async () => {
    const scene = makeScene();
    await oldRun(scene, (path) => {
      deep(path, 3_000);
      deep(path, 200);
    });
    const open = runToEnd(
      `const fs = await import('node:fs');
       const clock = { now: () => new Date(${NOW.getTime()}), monotonic: () => performance.now(), sleep: async () => {} };
       let most = 0;
       const timer = setInterval(() => { most = Math.max(most, fs.readdirSync('/proc/self/fd').length); }, 1);
       const report = await room.pruneTenant(args[0], ${JSON.stringify(NAME)}, room.retentionOf(), { clock });
       clearInterval(timer);
       console.log(JSON.stringify({ most, problems: report.problems.items }));`,
      scene.root,
    );
    const { most, problems } = JSON.parse(open.stdout);
    expect(problems).toEqual([]);
    expect(most).toBeLessThan(250);
    expect(existsSync(scene.tenant)).toBe(false);
  }, 60_000);

  it('W7: a run deeper than is looked at goes itself', async () => {
    const scene = makeScene();
    await scene.run('flat');
    deep(await scene.run('deep'), 200);
    const report = await scene.prune();
    expect(report.removed.items).toMatchObject([{ runId: 'deep', why: 'unmeasured' }]);
    expect(scene.runs()).toEqual(['flat']);
  });

  it('W6: names of 255 bytes, with line breaks, and of bytes that are no text', async () => {
    const scene = makeScene();
    await oldRun(scene, (path) => {
      for (const name of ['x'.repeat(255), '\n', ' ', '-rf', '*', '\u202e', 'ä'.repeat(127)]) {
        mkdirSync(join(path, 'd', name), { recursive: true });
        writeFileSync(join(path, 'd', name, name), '');
      }
      const raw = (...bytes: number[]) => Buffer.concat([Buffer.from(`${path}/d/`), Buffer.from(bytes)]);
      mkdirSync(raw(0xff, 0xfe));
      writeFileSync(Buffer.concat([raw(0xff, 0xfe), Buffer.from('/'), Buffer.from([0x80])]), '');
      writeFileSync(raw(0xc3), '');
      writeFileSync(join(path, 'd', '\ufffd'), 'a name that only looks so');
    });
    expect((await scene.prune()).problems.items).toEqual([]);
    expect(existsSync(scene.tenant)).toBe(false);
  });

  it('W7: what lies below a name that is no text counts', async () => {
    const scene = makeScene();
    const path = await scene.run('hidden', { days: 1 });
    await scene.run('small');
    const raw = Buffer.concat([Buffer.from(`${path}/`), Buffer.from([0xff])]);
    mkdirSync(raw);
    writeFileSync(Buffer.concat([raw, Buffer.from('/large')]), Buffer.alloc(512 * 1024, 1));
    const report = await scene.prune({ maxBytes: 256 * 1024 });
    expect(report.removed.items).toMatchObject([{ runId: 'hidden', why: 'bytes' }]);
  });

  it('W6: directories without rights for their owner, as a module cache has them', async (context) => {
    if (!AS_ROOT) return context.skip('made for another user by root');
    const scene = makeScene();
    const user = 1_999;
    chownSync(join(scene.root, '..'), user, user);
    chmodSync(join(scene.root, '..'), 0o755);
    const code = `
      const fs = await import('node:fs');
      process.setgroups([]); process.setgid(${user}); process.setuid(${user});
      const run = await room.acquireRun(args[0], ${JSON.stringify({ ...NAME, runId: 'r' })});
      const closed = [['read-only/below', 0o555], ['read-only', 0o555], ['closed', 0], ['listable', 0o600], ['searchable', 0o100]];
      // Deeper than directories are open at a time: such a one has to be moved, which it forbids too.
      for (let name = 'deep', n = 0; n < 60; name += '/d', n++) closed.unshift([name, 0o555]);
      for (const [name] of closed) fs.mkdirSync(run.path + '/' + name, { recursive: true });
      for (const [name] of closed) fs.writeFileSync(run.path + '/' + name + '/f', '');
      for (const [name, mode] of closed) fs.chmodSync(run.path + '/' + name, mode);
      await run.release();
      const report = await room.pruneTenant(args[0], ${JSON.stringify(NAME)}, room.retentionOf({ maxRuns: 0 }));
      console.log(JSON.stringify(report.problems.items));`;
    expect(runToEnd(code, scene.root).stdout.trim()).toBe('[]');
    expect(existsSync(scene.tenant)).toBe(false);
  });

  it('W6: a run that was made read-only as a whole', async (context) => {
    if (!AS_ROOT) return context.skip('made for another user by root');
    const scene = makeScene();
    const user = 1_999;
    chownSync(join(scene.root, '..'), user, user);
    chmodSync(join(scene.root, '..'), 0o755);
    const code = `
      const { execFileSync } = await import('node:child_process');
      process.setgroups([]); process.setgid(${user}); process.setuid(${user});
      const run = await room.acquireRun(args[0], ${JSON.stringify({ ...NAME, runId: 'r' })});
      execFileSync('chmod', ['-R', 'a-w', run.path]);
      await run.release();
      const report = await room.pruneTenant(args[0], ${JSON.stringify(NAME)}, room.retentionOf({ maxRuns: 0 }));
      console.log(JSON.stringify(report.problems.items));`;
    expect(runToEnd(code, scene.root).stdout.trim()).toBe('[]');
    expect(existsSync(scene.tenant)).toBe(false);
  });

  it('W6: sockets, fifos and devices, and opens none of them', async () => {
    const scene = makeScene();
    await oldRun(scene, (path) => {
      execFileSync('mkfifo', [join(path, 'fifo')]);
      if (AS_ROOT) execFileSync('mknod', [join(path, 'tty'), 'c', '5', '0']);
    });
    expect((await scene.prune()).problems.items).toEqual([]);
    expect(existsSync(scene.tenant)).toBe(false);
  });

  it('rule 8: a tenant, a category or the room’s own directory that is a link, and follows none', async () => {
    const scene = makeScene();
    await scene.run('r');
    const elsewhere = join(scene.outside, 'tenant');
    renameSync(scene.tenant, elsewhere);
    symlinkSync(elsewhere, scene.tenant);
    await expect(scene.prune({ maxRuns: 0 })).rejects.toThrow('cannot open directory');
    expect(readdirSync(elsewhere)).toContain('r');
    rmSync(join(scene.root, '.pi-work'), { recursive: true });
    symlinkSync(scene.outside, join(scene.root, '.pi-work'));
    await expect(scene.prune()).rejects.toThrow('cannot open directory');
    expect(readdirSync(scene.outside)).toEqual(['tenant']);
  });

  it('W6: a directory that is swapped for a link while its content is deleted', () => {
    const { root, outside } = makeScene();
    for (const name of ['a', 'b', 'c']) {
      mkdirSync(join(root, 'top', name), { recursive: true });
      for (let n = 0; n < 300; n++) writeFileSync(join(root, 'top', name, `f${n}`), '');
      for (let n = 0; n < 300; n++) writeFileSync(join(outside, `f${n}`), '');
    }
    const top = openDirectory(join(root, 'top'));
    const walk = deleteContent(top, { keep: '.pi-work-run.json', empty: '.leases', measure: true });
    for (let step = walk.next(); !step.done; step = walk.next()) {
      for (const name of ['a', 'b', 'c']) {
        if (!existsSync(join(root, 'top', name)) || existsSync(join(root, `moved-${name}`))) continue;
        renameSync(join(root, 'top', name), join(root, `moved-${name}`));
        symlinkSync(outside, join(root, 'top', name));
      }
    }
    top.close();
    expect(readdirSync(outside)).toHaveLength(300);
    expect(readdirSync(join(root, 'top'))).toEqual([]);
  });

  it('W6: a process that goes on writing into what is deleted: it ends, and the next prune finishes', async () => {
    const scene = makeScene();
    const path = await oldRun(scene, (run) => mkdirSync(join(run, 'd')));
    const inside = openDirectory(join(path, 'd'));
    let count = 0;
    const write = setInterval(() => {
      try {
        for (let n = 0; n < 50; n++) writeFileSync(inside.at(`late-${count++}`), '');
      } catch {
        // Its directory is gone.
      }
    }, 0);
    onTestFinished(() => clearInterval(write));
    await scene.prune();
    clearInterval(write);
    inside.close();
    await scene.prune();
    expect(existsSync(scene.tenant)).toBe(false);
  });
});

describe('large', () => {
  const ENTRIES = process.env.WORK_FULL === '1' ? 100_000 : 10_000;

  it(`W6: a run of ${ENTRIES} entries goes whole, while others can work`, async () => {
    const scene = makeScene();
    await oldRun(scene, (path) => {
      for (let n = 0; n < ENTRIES; n++) {
        if (n % 1_000 === 0) mkdirSync(join(path, `d${n / 1_000}`));
        writeFileSync(join(path, `d${Math.floor(n / 1_000)}`, `f${n}`), '');
      }
    });
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const report = await scene.prune();
    clearInterval(timer);
    expect(report.problems.items).toEqual([]);
    expect(turns).toBeGreaterThan(3);
    expect(existsSync(scene.tenant)).toBe(false);
  }, 120_000);
});
