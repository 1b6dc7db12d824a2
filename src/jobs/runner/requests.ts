/** What is asked over the job's socket, done (J6, J9). */
import type { PiRpc } from '../../pi/index.ts';
import type { ControlAnswer, ControlRequest, ControlState } from '../control/protocol.ts';
import type { RequestHandler } from '../control/server.ts';
import type { Life, RunEnd, RunView } from './life.ts';
import type { Questions } from './questions.ts';
import type { Steering } from './steering.ts';
import type { Stopping } from './stopping.ts';

export interface RequestsOptions {
  readonly life: Life;
  readonly stopping: Stopping;
  readonly questions: Questions;
  readonly steering: Steering;
  readonly view: RunView;
  /** How the run ended, once that is committed. */
  readonly ended: Promise<RunEnd>;
}

export function openRequests(options: RequestsOptions): RequestHandler {
  const { stopping, questions, ended } = options;
  return async (request: ControlRequest): Promise<ControlAnswer> => {
    switch (request.op) {
      case 'steer':
      case 'follow-up':
        return put(options, request.op, request.text);
      case 'abort':
        stopping.want({ type: 'abort-wanted' });
        return { ok: true, status: (await ended).status };
      case 'kill':
        stopping.want({ type: 'kill-wanted' });
        return { ok: true, status: (await ended).status };
      case 'answer':
        return questions.answer(request.dialog, request.value);
      case 'state':
        return { ok: true, state: stateOf(options) };
      case 'watch':
        return { ok: true };
    }
  };
}

async function put(
  { life, stopping, steering }: RequestsOptions,
  type: 'steer' | 'follow-up',
  text: string,
): Promise<ControlAnswer> {
  const client: PiRpc | undefined = stopping.client;
  const { state } = life;
  // Before pi has taken the prompt, and after its end, pi would only keep it.
  if (!client || !state.live || state.status === 'starting' || state.wish !== undefined) {
    return { ok: true, receipt: 'not-running' };
  }
  return steering.put(client, type, text);
}

function stateOf({ life, questions, view }: RequestsOptions): ControlState {
  const { state } = life;
  const { position, model } = view;
  return {
    status: state.status,
    dialogs: questions.open(),
    cancelledDialogs: questions.cancelled,
    ...(position !== undefined && { position }),
    ...(model !== undefined && { model }),
    ...(state.live && state.wish !== undefined && { ending: state.why }),
  };
}
