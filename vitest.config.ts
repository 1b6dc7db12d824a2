import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/setup/longest-first.ts';

/**
 * Two projects: `unit` needs nothing but Node, `e2e` needs an engine and the built command.
 * An e2e test may wait on a real engine, so its limit is long, yet everything has one.
 */
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          globalSetup: ['test/setup/unit-global.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // Most of the time goes into waiting for other processes.
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: ['test/setup/e2e-global.ts'],
          testTimeout: 120_000,
          hookTimeout: 300_000,
          // An engine that several test files use at once now and then refuses something for reasons of its own. The report
          // names each test that needed its second try.
          retry: 1,
          maxWorkers: 3,
        },
      },
    ],
  },
});
