/** How a process ended. */

/** Exactly one of them is not null. */
export interface PiExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export function describeExit({ code, signal }: PiExit): string {
  return signal === null ? `exit code ${code}` : signal;
}
