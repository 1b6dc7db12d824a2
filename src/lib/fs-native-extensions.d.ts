/** The package has no types of its own; this is the part of it that kernel-lock.ts uses. */
declare module 'fs-native-extensions' {
  /** Tries an open-file-description lock on a part of the file (length 0: to its end, however far); false when another description holds it. */
  export function tryLock(
    fd: number,
    offset: number,
    length: number,
    options?: { shared?: boolean },
  ): boolean;
  export function unlock(fd: number): void;
}
