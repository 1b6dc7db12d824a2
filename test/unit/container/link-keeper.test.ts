import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { pathsOf, type Roots } from '../../../src/agent-dir/index.ts';
import { LinkKeeper } from '../../../src/container/keeper/link-keeper.ts';
import { buildAgentDirectory } from '../../../src/container/setup/agent-directory.ts';
import { makeRoots, temporary, until } from './sandbox.ts';

interface Kept {
  roots: Roots;
  agent: string;
  keeper: LinkKeeper;
  events: string[];
  /** What stands behind the link of that name. */
  behind(name: string): string | undefined;
  /** Waits until the link stands and leads to this content. */
  settled(name: string, content: string): Promise<void>;
}

function kept(roots = makeRoots()): Kept {
  const { agent } = pathsOf(roots);
  for (const directory of ['agent', 'locks']) mkdirSync(`${roots.domain}/${directory}`);
  mkdirSync(`${roots.shared}/.pi/agent`, { recursive: true });
  mkdirSync(`${roots.memory}/config`);
  const links = buildAgentDirectory(roots, { privatePackages: false }, () => undefined);
  const events: string[] = [];
  const keeper = new LinkKeeper(agent, links, (event, name) => events.push(`${event} ${name}`));
  keeper.start();
  onTestFinished(() => keeper.stop());
  const behind = (name: string): string | undefined => {
    const target = links.find((link) => link.name === name)?.target ?? '';
    return existsSync(target) ? readFileSync(target, 'utf8') : undefined;
  };
  const stands = (name: string): boolean => {
    const link = links.find((candidate) => candidate.name === name);
    const path = `${agent}/${name}`;
    return (
      lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true &&
      readlinkSync(path) === link?.target
    );
  };
  return {
    roots,
    agent,
    keeper,
    events,
    behind,
    settled: (name, content) =>
      until(() => stands(name) && behind(name) === content, `${name} to be ${content.slice(0, 40)}`),
  };
}

describe('the link keeper', () => {
  it('S4: a file renamed over a link goes behind it, private to its owner', async () => {
    const { agent, roots, settled, behind } = kept();
    writeFileSync(`${roots.domain}/mcp-auth.json`, 'old');
    writeFileSync(`${agent}/fresh`, 'new', { mode: 0o644 });
    renameSync(`${agent}/fresh`, `${agent}/mcp-auth.json`);
    await settled('mcp-auth.json', 'new');
    expect(behind('mcp-auth.json')).toBe('new');
    expect(statSync(`${roots.domain}/mcp-auth.json`).mode & 0o777).toBe(0o600);
  });

  it('S4: a first login through a link whose target is not there yet, in each way of writing', async () => {
    const { agent, settled } = kept();
    writeFileSync(`${agent}/auth.json`, 'through the link');
    await settled('auth.json', 'through the link');
    writeFileSync(`${agent}/fresh`, 'renamed');
    renameSync(`${agent}/fresh`, `${agent}/models-store.json`);
    await settled('models-store.json', 'renamed');
  });

  it('S4: a program that removes the file and makes it anew loses neither the old nor the new', async () => {
    const { agent, roots, settled, events } = kept();
    writeFileSync(`${roots.shared}/.pi/agent/auth.json`, 'old');
    unlinkSync(`${agent}/auth.json`);
    await sleep(10);
    closeSync(openSync(`${agent}/auth.json`, 'wx'));
    writeFileSync(`${agent}/auth.json`, 'new');
    await settled('auth.json', 'new');
    expect(events).not.toContain('removed-behind-link auth.json');
  });

  it('S4: a writer that still writes is followed, also long after the link stands again', async () => {
    const { agent, settled } = kept();
    const fd = openSync(`${agent}/fresh`, 'w');
    writeSync(fd, 'one\n');
    renameSync(`${agent}/fresh`, `${agent}/mcp.log`);
    for (let n = 0; n < 10; n++) {
      await sleep(20);
      writeSync(fd, `${n}\n`);
    }
    const first = 'one\n0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n';
    await settled('mcp.log', first);
    await sleep(300);
    writeSync(fd, 'late\n');
    await settled('mcp.log', `${first}late\n`);
    closeSync(fd);
  });

  it('S4: what such a writer adds never undoes what somebody wrote through the link since', async () => {
    const { agent, settled, behind, keeper } = kept();
    const fd = openSync(`${agent}/fresh`, 'w');
    writeSync(fd, 'first\n');
    renameSync(`${agent}/fresh`, `${agent}/USER.md`);
    await settled('USER.md', 'first\n');
    writeFileSync(`${agent}/USER.md`, 'newer');
    writeSync(fd, 'stale');
    await keeper.stop();
    expect(behind('USER.md')).toBe('newer');
    closeSync(fd);
  });

  it('S4: after a burst of 100 writes the last one stands behind the link', async () => {
    const { agent, settled } = kept();
    for (let n = 1; n <= 100; n++) {
      writeFileSync(`${agent}/fresh`, `content ${n}`);
      renameSync(`${agent}/fresh`, `${agent}/keybindings.json`);
      if (n % 10 === 0) await sleep(n);
    }
    await settled('keybindings.json', 'content 100');
  });

  it('S4: a link removed by hand means the file behind it', async () => {
    const { agent, roots, behind, events } = kept();
    writeFileSync(`${roots.shared}/.pi/agent/auth.json`, 'login');
    unlinkSync(`${agent}/auth.json`);
    await until(() => events.includes('removed-behind-link auth.json'), 'the file to go');
    expect(behind('auth.json')).toBeUndefined();
    expect(readlinkSync(`${agent}/auth.json`)).toBe(`${roots.shared}/.pi/agent/auth.json`);
  });

  it('S4: a removed link never means the folder behind it', async () => {
    const { agent, roots } = kept();
    writeFileSync(`${roots.sessions}/history.jsonl`, '{}');
    unlinkSync(`${agent}/sessions`);
    await until(() => existsSync(`${agent}/sessions`), 'the link');
    expect(readFileSync(`${agent}/sessions/history.jsonl`, 'utf8')).toBe('{}');
    // Nor where a folder stands behind the link of a file.
    mkdirSync(`${roots.domain}/agent/MEMORY.md`);
    unlinkSync(`${agent}/MEMORY.md`);
    await until(() => existsSync(`${agent}/MEMORY.md`), 'the other link');
    expect(statSync(`${roots.domain}/agent/MEMORY.md`).isDirectory()).toBe(true);
  });

  it('S4: a link that was given another name keeps its file', async () => {
    const { agent, roots } = kept();
    writeFileSync(`${roots.shared}/.pi/agent/auth.json`, 'login');
    renameSync(`${agent}/auth.json`, `${agent}/auth.json.bak`);
    await until(() => existsSync(`${agent}/auth.json`), 'the link');
    expect(readFileSync(`${agent}/auth.json.bak`, 'utf8')).toBe('login');
  });

  it('S4: links into the container’s memory are kept in the same way', async () => {
    const { agent, roots, settled } = kept();
    writeFileSync(`${roots.memory}/settings.json`, '{}');
    writeFileSync(`${agent}/fresh`, '{"a":1}');
    renameSync(`${agent}/fresh`, `${agent}/settings.json`);
    await settled('settings.json', '{"a":1}');
    symlinkSync('/elsewhere', `${agent}/fresh`);
    renameSync(`${agent}/fresh`, `${agent}/settings.json`);
    await settled('settings.json', '{"a":1}');
  });

  it('S4: a folder in a link’s place, and a fifo, are left alone and said', async () => {
    const { agent, events } = kept();
    unlinkSync(`${agent}/skills`);
    mkdirSync(`${agent}/skills`);
    unlinkSync(`${agent}/USER.md`);
    execFileSync('mkfifo', [`${agent}/USER.md`]);
    await until(() => events.includes('left-alone skills'), 'skills');
    await until(() => events.includes('left-alone USER.md'), 'USER.md');
    expect(lstatSync(`${agent}/USER.md`).isFIFO()).toBe(true);
  });

  it('S4: the last pass at the stop puts away what nobody saw', async () => {
    const { agent, behind, keeper } = kept();
    writeFileSync(`${agent}/fresh`, 'last');
    renameSync(`${agent}/fresh`, `${agent}/mcp-auth.json`);
    await keeper.stop();
    expect(behind('mcp-auth.json')).toBe('last');
    expect(lstatSync(`${agent}/mcp-auth.json`).isSymbolicLink()).toBe(true);
    expect(readdirSync(agent).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it('S4: behind a link may be another file system', async ({ skip }) => {
    const disk = '/dev/shm';
    const base = temporary();
    if (!existsSync(disk) || statSync(disk).dev === statSync(base).dev) skip('no second file system here');
    const domain = `${disk}/pi-sandbox-test-${process.pid}`;
    onTestFinished(() => rmSync(domain, { recursive: true, force: true }));
    mkdirSync(domain);
    const { agent, settled } = kept({ ...makeRoots(base), domain });
    writeFileSync(`${agent}/fresh`, 'across');
    renameSync(`${agent}/fresh`, `${agent}/mcp-auth.json`);
    await settled('mcp-auth.json', 'across');
  });

  it('S4: a full disk leaves the content where it was written, and the keeper at work', async () => {
    const { agent, roots, events, settled } = kept();
    rmSync(`${roots.domain}/agent`, { recursive: true });
    writeFileSync(`${roots.domain}/agent`, 'no folder');
    writeFileSync(`${agent}/fresh`, 'precious');
    renameSync(`${agent}/fresh`, `${agent}/USER.md`);
    await until(() => events.includes('left-alone USER.md'), 'the report');
    expect(readFileSync(`${agent}/USER.md`, 'utf8')).toBe('precious');
    await sleep(200);
    expect(events.filter((event) => event === 'left-alone USER.md').length).toBeLessThan(5);
    rmSync(`${roots.domain}/agent`);
    appendFileSync(`${agent}/USER.md`, '!');
    await settled('USER.md', 'precious!');
  });

  it('S4: a program that swaps links as fast as it can makes the keeper write nowhere else', async () => {
    const { agent, roots, keeper } = kept();
    const elsewhere = temporary();
    writeFileSync(`${elsewhere}/victim`, 'untouched');
    const attack = `
      import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
      const [agent, elsewhere] = process.argv.slice(1);
      const path = agent + '/USER.md', fresh = agent + '/fresh';
      console.log('ready');
      for (let n = 0; ; n++) try {
        rmSync(fresh, { recursive: true, force: true });
        if (n % 4 === 0) writeFileSync(fresh, 'hostile');
        if (n % 4 === 1) symlinkSync(elsewhere + '/victim', fresh);
        if (n % 4 === 2) symlinkSync(elsewhere, fresh);
        if (n % 4 === 3) { mkdirSync(fresh); rmSync(path, { recursive: true, force: true }); }
        renameSync(fresh, path);
      } catch {}`;
    const child: ChildProcess = spawn(
      process.execPath,
      ['--input-type=module', '-e', attack, '--', agent, elsewhere],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    if (child.stdout) await once(child.stdout, 'data');
    await sleep(1_500);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await keeper.stop();
    expect(readFileSync(`${elsewhere}/victim`, 'utf8')).toBe('untouched');
    expect(readdirSync(elsewhere)).toEqual(['victim']);
    const target = `${roots.domain}/agent/USER.md`;
    if (existsSync(target)) expect(['hostile', '']).toContain(readFileSync(target, 'utf8'));
  });
});
