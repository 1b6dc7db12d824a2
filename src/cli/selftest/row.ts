/** One line of a selftest's table. */
export interface Row {
  readonly check: string;
  /** `skipped`: nothing is there to be checked, or it cannot be told here; the detail says which. */
  readonly result: 'ok' | 'FAIL' | 'skipped';
  readonly detail: string;
}

/** The row of a check that holds when it has found nothing wrong. */
export function row(check: string, wrong: readonly string[], detail: string): Row {
  return wrong.length === 0
    ? { check, result: 'ok', detail }
    : { check, result: 'FAIL', detail: wrong.join('; ') };
}

export function skipped(check: string, detail: string): Row {
  return { check, result: 'skipped', detail };
}
