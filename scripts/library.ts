/**
 * `pi-sandbox/work` as others import it: one bundle, its types, and a package.json for the image, where the directory
 * stands as the package `pi-sandbox` (docker/README.md).
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { type BuildOptions, build } from 'esbuild';
import ts from 'typescript';

const ENTRY = 'src/work/library.ts';
const TYPES = 'types';

/** Builds it into a directory. `script` makes one file of CommonJS. */
export async function buildLibrary(script: BuildOptions, version: string, directory: string): Promise<void> {
  await build({
    ...script,
    entryPoints: { work: ENTRY },
    outdir: directory,
    external: ['fs-native-extensions'],
  });
  writeFileSync(join(directory, 'work.mjs'), moduleOf(await exportedNames()));
  const types = declareTypes(join(directory, TYPES));
  const manifest = {
    name: 'pi-sandbox',
    version,
    type: 'module',
    exports: { './work': { types: `./${TYPES}/${types}`, default: './work.mjs' } },
  };
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** What the entry exports that is a value. */
async function exportedNames(): Promise<string[]> {
  const { metafile } = await build({
    entryPoints: [ENTRY],
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    write: false,
    metafile: true,
  });
  return Object.values(metafile.outputs).flatMap((output) => output.exports);
}

/**
 * The module that is imported. pi transforms what its extensions import before it runs it, which takes a fresh container
 * half a second for the whole library; what is required, Node loads as it is.
 */
function moduleOf(names: readonly string[]): string {
  return `import { createRequire } from 'node:module';
const work = createRequire(import.meta.url)('./work.cjs');
export const { ${names.join(', ')} } = work;
`;
}

/**
 * Writes the declarations of the entry and of what it speaks of. Each file by itself, which takes milliseconds: what is
 * exported says its types (TypeScript's isolated declarations).
 *
 * @returns the entry's, below the directory
 */
function declareTypes(directory: string): string {
  const seen = new Set<string>();
  const waiting = [resolve(ENTRY)];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    const declaration = declarationOf(file);
    for (const { fileName } of ts.preProcessFile(declaration).importedFiles) {
      if (fileName.startsWith('.')) waiting.push(resolve(dirname(file), fileName));
    }
    const target = join(directory, declarationName(file));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, declaration.replace(/(from ')(\.[^']*)\.ts(')/g, '$1$2.js$3'));
  }
  return declarationName(resolve(ENTRY));
}

function declarationName(file: string): string {
  return relative('src', file).replace(/\.ts$/, '.d.ts');
}

function declarationOf(file: string): string {
  const { outputText, diagnostics = [] } = ts.transpileDeclaration(readFileSync(file, 'utf8'), {
    fileName: file,
    reportDiagnostics: true,
    compilerOptions: {
      declaration: true,
      isolatedDeclarations: true,
      allowImportingTsExtensions: true,
      target: ts.ScriptTarget.ES2024,
      module: ts.ModuleKind.NodeNext,
    },
  });
  const [problem] = diagnostics;
  if (problem) throw new Error(`${file}: ${ts.flattenDiagnosticMessageText(problem.messageText, '\n')}`);
  return outputText;
}
