import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, installation } from '../setup/installation.ts';
import { terminal } from '../setup/terminal.ts';

let here: Installation;
let project: string;

beforeAll(async () => {
  here = await installation();
  project = here.project();
  here.configure('config/settings.json', '{\n  "theme": "dark",\n  "quietStartup": true\n}\n');
  here.configure(
    'config/models.json',
    '// mine\n{ "providers": { "mine": { "baseUrl": "http://127.0.0.1:1" } } }',
  );
});

afterAll(async () => {
  await here.cleanup();
  expect(await here.leftovers()).toEqual([]);
});

const own = (path: string): string => readFileSync(join(here.configDirectory, 'config', path), 'utf8');
const change = (script: string) =>
  here.run(['shell', project, '--', 'bash', '-c', `cd ~/.pi/agent; ${script}`]);
const edit = (file: string, expression: string): string =>
  `node -e "const fs=require('fs'),f='${file}',o=JSON.parse(fs.readFileSync(f));${expression};fs.writeFileSync(f,JSON.stringify(o))"`;

describe('S8: config keep', () => {
  it('S8: takes changed keys over into the level that is named, and nothing else', async () => {
    await change(edit('settings.json', "o.theme='light';o.compaction={enabled:false}"));
    const result = await here.run(['config', 'keep', project, '--to', 'domain']);
    expect(result).toMatchObject({ exitCode: 0, stderr: '' });
    expect(result.stdout).toContain('domains/default: settings.json theme = "light"\n');
    expect(JSON.parse(own('domains/default/settings.json'))).toEqual({
      theme: 'light',
      compaction: { enabled: false },
    });
    expect(own('settings.json')).toBe('{\n  "theme": "dark",\n  "quietStartup": true\n}\n');
    expect((await here.run(['config', 'show', project])).stdout).toMatch(
      /theme +"light" +.*domains\/default/,
    );
  });

  it('S8: the next start has it, and nothing is left to keep', async () => {
    expect((await change('cat settings.json')).stdout).toContain('"light"');
    const again = await here.run(['config', 'keep', project, '--to', 'domain']);
    expect(again).toMatchObject({ exitCode: 0, stdout: '' });
    expect(again.stderr).toContain('nothing was changed');
  });

  it('S8: asks for each change on a terminal, with its value made safe to show', async () => {
    await change(
      edit(
        'settings.json',
        "o.quietStartup=false;o.lastChangelogVersion='9';o['x\\u001b[31m']='\\u001b]0;evil'",
      ),
    );
    const window = terminal(process.execPath, [here.cli, 'config', 'keep', project], {
      env: here.env,
      cwd: project,
    });
    await window.shows(/settings\.json quietStartup = false\. Keep it\? \[g\/d\/N\]/);
    window.type('g\r');
    await window.shows(/= "\\u001b\]0;evil"\. Keep it\?/);
    window.type('\r');
    expect(await window.exited()).toBe(0);
    expect(JSON.parse(own('settings.json'))).toEqual({ theme: 'dark', quietStartup: false });
    expect(JSON.parse(own('domains/default/settings.json'))).not.toHaveProperty('quietStartup');
  });

  it('S8: a server is kept by itself, and a file with comments is never rewritten', async () => {
    await change(edit('mcp.json', "o.mcpServers={s:{command:'true'}}"));
    expect(await here.run(['config', 'keep', project, '--to', 'global'])).toMatchObject({ exitCode: 0 });
    expect(JSON.parse(own('mcp.json'))).toEqual({ mcpServers: { s: { command: 'true' } } });
    await change(edit('models.json', "o.providers.other={baseUrl:'http://127.0.0.1:2'}"));
    const result = await here.run(['config', 'keep', project, '--to', 'global']);
    expect(result).toMatchObject({ exitCode: 2, stdout: '' });
    expect(result.stderr).toContain('nothing is written into it');
    expect(own('models.json')).toContain('// mine');
  });

  it('S8: shows a value whole, and leaves one that nobody could read through', async () => {
    const long = 'x'.repeat(400);
    await change(edit('settings.json', "o.externalEditor='x'.repeat(400)+'!';o.shellPath='y'.repeat(20000)"));
    const result = await here.run(['config', 'keep', project, '--to', 'domain']);
    expect(result).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(`= "${long}!"\n`) });
    expect(result.stderr).toContain('settings.json shellPath has 20002 characters');
    expect(JSON.parse(own('domains/default/settings.json'))).not.toHaveProperty('shellPath');
  });

  it('S8: without a terminal and without a level nothing is written', async () => {
    const result = await here.run(['config', 'keep', project]);
    expect(result).toMatchObject({ exitCode: 2, stdout: '' });
    expect(result.stderr).toContain('--to global|domain|none');
    const wrong = await here.run(['config', 'keep', project, '--to', 'nowhere']);
    expect(wrong).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('allowed are global, domain, none'),
    });
    expect(existsSync(join(here.configDirectory, 'config/nowhere'))).toBe(false);
  });
});
