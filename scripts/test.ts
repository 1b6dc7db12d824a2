/**
 * `npm test`: lint, types, dependency rules, unused code, then all tests; every step runs even after one that failed,
 * and the last line counts steps and tests together.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A run that hangs is ended; each test has its own, shorter limit. */
const STEP_LIMIT_MS = 30 * 60_000;

const results = mkdtempSync(join(tmpdir(), 'pi-sandbox-test-'));
let passed = 0;
let failed = 0;

for (const [name, command, ...words] of [
  ['lint', 'biome', 'check', '.'],
  ['types', 'tsc', '--noEmit'],
  ['dependency rules', 'depcruise', '--config', '.dependency-cruiser.cjs', 'src'],
  ['unused code', 'knip'],
] as const) {
  process.stdout.write(`\n== ${name}\n`);
  const ok = spawnSync(command, words, { stdio: 'inherit', timeout: STEP_LIMIT_MS }).status === 0;
  if (ok) passed++;
  else failed++;
}

for (const project of ['unit', 'e2e'] as const) {
  process.stdout.write(`\n== ${project} tests\n`);
  const report = join(results, `${project}.json`);
  const words = [
    'run',
    '--project',
    project,
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
  ];
  const { status } = spawnSync('vitest', [...words, ...process.argv.slice(2)], {
    stdio: 'inherit',
    timeout: STEP_LIMIT_MS,
  });
  const counts = readCounts(report);
  passed += counts.passed;
  // A file that could not be loaded, or a failed set-up, has no failed test of its own.
  failed += status === 0 ? counts.failed : Math.max(1, counts.failed);
}

rmSync(results, { recursive: true, force: true });
process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;

function readCounts(report: string): { passed: number; failed: number } {
  try {
    const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, 'utf8'));
    return { passed: Number(numPassedTests), failed: Number(numFailedTests) };
  } catch {
    return { passed: 0, failed: 1 };
  }
}
