/** A small file that follows a value: the latest one is written, those that were overtaken are not. */

export interface LatestFile {
  put(value: string): void;
  /** When the last value is on disk, or could not be written. */
  settled(): Promise<void>;
}

export function latestFile(
  write: (value: string) => Promise<void>,
  onFailure: (error: unknown) => void,
): LatestFile {
  let next: string | undefined;
  let writing: Promise<void> | undefined;

  async function writeAll(): Promise<void> {
    while (next !== undefined) {
      const value = next;
      next = undefined;
      try {
        await write(value);
      } catch (error) {
        onFailure(error);
      }
    }
    writing = undefined;
  }

  return {
    put(value) {
      next = value;
      writing ??= writeAll();
    },
    settled: async () => writing,
  };
}
