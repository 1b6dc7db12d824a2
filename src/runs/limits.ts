/** Every bound of a run (R3, R4, R8); docs/runs.md prints this table, and a test holds the two together. */

export const LIMITS = {
  /** Steps of a graph; `--max-steps` up to the second. */
  steps: 16,
  mostSteps: 1_024,
  /** `needs` and `after` of one step together. */
  dependencies: 12,
  /** Steps at once; the jobs' own limit (J8) applies too. */
  concurrency: 6,
  mostConcurrency: 10,
  stepSeconds: 7_200,
  mostStepSeconds: 36_000,
  /** Of the whole run; `--timeout` may lower it. */
  runSeconds: 86_400,
  retentionSeconds: 86_400,
  mostRetentionSeconds: 604_800,
  messageBytes: 64 * 1_024,
  /** For one step. */
  messages: 16,
  /** Of a step's result, and of its diff. */
  outputBytes: 4 * 1_024 * 1_024,
  graphBytes: 256 * 1_024,
  /** What `${steps.<id>.output}` puts in, at most. */
  insertedBytes: 64 * 1_024,
  promptBytes: 1_024 * 1_024,
  objectiveCharacters: 4_000,
  /** Rows of a list without `--limit`. */
  rows: 100,
  mostRows: 1_000,
  /** Of an objective, in a list, for other Sessions. */
  foreignObjectiveCharacters: 200,
  /** An orphan without a change for so long has expired (R9). */
  orphanSeconds: 86_400,
  /** Between two sweeps. */
  sweepSeconds: 21_600,
} as const;
