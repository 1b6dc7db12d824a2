import type { JobView } from '../../../jobs/index.ts';
import type { Asked } from './asked.ts';
import type { JobsCall } from './call.ts';
import type { Action } from './parameters.ts';

/** A call whose parameters have been read. */
export interface Parameters extends JobsCall {
  readonly asked: Asked<Action>;
}

export interface Reply {
  /** For the model. */
  readonly text: string;
  /** Those that it was told the state of. */
  readonly jobs?: readonly JobView[];
}
