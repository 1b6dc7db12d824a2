/**
 * Storage that extensions have claimed is released when pi unloads them (W3), also where an extension did not say whose
 * it is or failed while it was loaded. Through the process, and not by importing the room: most Sessions never use it.
 */
export function releaseStorage(): void {
  globalThis.piSandboxStorage1?.releaseAll();
}
