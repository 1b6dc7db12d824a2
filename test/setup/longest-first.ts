/** The order of test files: one that takes minutes and is begun last would run on when all others are done. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** By their names, which say little of that: a table of cases is short. */
const LONGEST = /\/(faults|rootless|users|names|network)\.test\.ts$/;

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => LONGEST.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
