/** One line of the doctor's table. */
export interface Row {
  readonly check: string;
  /** A `problem` keeps pi-sandbox from working as it should; a `warning` is worth a look. */
  readonly result: 'ok' | 'warning' | 'problem';
  readonly detail: string;
  /** What to do, a command where there is one; empty when nothing is. */
  readonly advice: string;
}

export function ok(check: string, detail: string): Row {
  return { check, result: 'ok', detail, advice: '' };
}

export function warning(check: string, detail: string, advice: string): Row {
  return { check, result: 'warning', detail, advice };
}

export function problem(check: string, detail: string, advice: string): Row {
  return { check, result: 'problem', detail, advice };
}
