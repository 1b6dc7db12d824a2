/** `pi-sandbox/work` as others import it: the built package, and its types. */
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { piCli } from '../../setup/pi.ts';
import { builtLibrary } from '../../setup/work-library.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
let built = '';
let directory = '';

beforeAll(async () => {
  built = await builtLibrary('types');
  directory = mkdtempSync(join(tmpdir(), 'work-library-'));
  mkdirSync(join(directory, 'node_modules/@types'), { recursive: true });
  symlinkSync(built, join(directory, 'node_modules/pi-sandbox'));
  symlinkSync(join(ROOT, 'node_modules/@types/node'), join(directory, 'node_modules/@types/node'));
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
});
afterAll(() => {
  for (const path of [built, directory]) rmSync(path, { recursive: true, force: true });
});

const PROGRAM = `
import { acquireWorkRun, getProcessWorkRun, getStorage, pruneWorkTenant, RetentionError, type WorkRun } from 'pi-sandbox/work';
const run: WorkRun = await acquireWorkRun({ category: 'reports', tenant: 'nightly', retention: { maxRuns: 3 } });
const own = await getProcessWorkRun({ category: 'reports', tenant: 'nightly' });
const storage = getStorage('my-program');
const scratch = await storage.acquireWorkRun({ runId: 'scratch' });
const { deleted }: { deleted: boolean } = await run.release({ delete: true });
const { removed, kept } = await pruneWorkTenant('reports', 'nightly', { maxAgeDays: 7 });
const refused: unknown = await pruneWorkTenant('reports', 'nightly', { maxRuns: -1 }).catch((error) => error);
await own.touch();
const names: string[] = removed.items.map(({ runId }) => runId);
console.log(JSON.stringify({ deleted, names, kept, path: scratch.path, state: storage.stateDir, refused: refused instanceof RetentionError }));
`;

describe('the exported library', () => {
  it('W3: works in a plain Node program, in the agent directory of its environment', () => {
    const { outputText } = ts.transpileModule(PROGRAM, {
      compilerOptions: {
        module: ts.ModuleKind.ESNext,
        target: ts.ScriptTarget.ES2024,
        verbatimModuleSyntax: true,
      },
    });
    writeFileSync(join(directory, 'program.js'), outputText);
    const agent = join(directory, 'agent');
    const env = {
      PATH: process.env.PATH,
      HOME: directory,
      PI_ADAPTATIVE_CODING_AGENT_DIR: agent,
      PI_CODING_AGENT_DIR: '/nowhere',
    };
    const { stdout, stderr, status } = spawnSync(process.execPath, ['program.js'], {
      cwd: directory,
      env,
      encoding: 'utf8',
      timeout: 20_000,
    });
    expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
    expect(JSON.parse(stdout)).toEqual({
      deleted: true,
      names: [],
      kept: 1,
      path: join(agent, 'work/extensions/my-program/scratch'),
      state: join(agent, 'state/extensions/my-program'),
      refused: true,
    });
    expect(existsSync(join(agent, 'state'))).toBe(false);
  });

  it.each([
    ['NodeNext', ts.ModuleKind.NodeNext, ts.ModuleResolutionKind.NodeNext],
    ['bundler', ts.ModuleKind.ESNext, ts.ModuleResolutionKind.Bundler],
  ])(
    'W3: has types, with %s resolution',
    (_name, module, moduleResolution) => {
      const file = join(directory, 'program.ts');
      const check = (text: string): string[] => {
        writeFileSync(file, text);
        const program = ts.createProgram([file], {
          ...{ module, moduleResolution, strict: true, noEmit: true, skipLibCheck: false },
          ...{
            target: ts.ScriptTarget.ES2024,
            types: ['node'],
            typeRoots: [join(directory, 'node_modules/@types')],
          },
        });
        const ours = program.getSourceFiles().filter(({ fileName }) => !fileName.includes('@types'));
        return ours
          .flatMap((source) => [
            ...program.getSyntacticDiagnostics(source),
            ...program.getSemanticDiagnostics(source),
          ])
          .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
      };
      expect(check(PROGRAM)).toEqual([]);
      const wrong = PROGRAM.replace("category: 'reports'", 'category: 7').replace('maxRuns: 3', 'maxruns: 3');
      expect(check(wrong).join()).toMatch(
        /Type 'number' is not assignable to type 'string'.*'maxruns' does not exist/,
      );
    },
    60_000,
  );

  it('W3: takes the object that pi hands to an extension', () => {
    const file = join(directory, 'extension.ts');
    writeFileSync(
      file,
      `import type { ExtensionAPI } from '@earendil-works/pi-coding-agent';
       import { getStorage } from 'pi-sandbox/work';
       export default (pi: ExtensionAPI): string => getStorage('mine', pi).stateDir;`,
    );
    mkdirSync(join(directory, 'node_modules/@earendil-works'), { recursive: true });
    const pi = resolve(dirname(piCli()), '../..');
    symlinkSync(pi, join(directory, 'node_modules/@earendil-works/pi-coding-agent'));
    const program = ts.createProgram([file], {
      ...{ module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext },
      ...{ target: ts.ScriptTarget.ES2024, strict: true, noEmit: true, skipLibCheck: true, types: ['node'] },
      typeRoots: [join(directory, 'node_modules/@types')],
    });
    const problems = program.getSemanticDiagnostics(program.getSourceFile(file));
    expect(problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))).toEqual([]);
  }, 90_000);

  it('W3: is what the package exports', () => {
    const ours = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).exports['./work'];
    const inImage = JSON.parse(readFileSync(join(built, 'package.json'), 'utf8'));
    expect(inImage).toMatchObject({ name: 'pi-sandbox', version: '1.2.3' });
    const below = (path: string) => path.replace('./', './dist/container/library/');
    expect(ours).toEqual({
      types: below(inImage.exports['./work'].types),
      default: below(inImage.exports['./work'].default),
    });
  });
});
