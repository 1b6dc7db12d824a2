/** What the tool `multi_agent` does (J12). What it throws is the call's failure, in pi's own form. */
import { isLive, type JobView } from '../../../jobs/index.ts';
import { messageOf, PiSandboxError } from '../../../lib/errors.ts';
import type { ToolResult } from '../../../pi/index.ts';
import { readAsked } from './asked.ts';
import { begin, goOn } from './begin.ts';
import type { JobsCall } from './call.ts';
import { control } from './control.ts';
import { listed, output, peek, status, wait } from './look.ts';
import { nestedUsage } from './nested-usage.ts';
import { ACTIONS } from './parameters.ts';
import type { Parameters, Reply } from './reply.ts';
import { endKey, type ToldDetails } from './told.ts';

export async function answer(call: JobsCall): Promise<ToolResult> {
  const asked = readAsked(call.parameters, ACTIONS);
  try {
    return await resultOf(await act({ ...call, asked }), call);
  } catch (error) {
    const hint = error instanceof PiSandboxError && error.hint !== undefined ? ` (${error.hint})` : '';
    throw new Error(`${messageOf(error)}${hint}`);
  }
}

function act(call: Parameters): Promise<Reply> {
  switch (call.asked.action) {
    case 'start':
      return begin(call);
    case 'resume':
      return goOn(call);
    case 'steer':
    case 'abort':
    case 'kill':
    case 'answer':
      return control(call, call.asked.action);
    case 'wait':
      return wait(call);
    case 'status':
      return status(call);
    case 'peek':
      return peek(call);
    case 'output':
      return output(call);
    case 'list':
      return listed(call);
  }
}

/** Whose end is told here is not told again. */
async function resultOf({ text, jobs = [] }: Reply, { here, teller }: JobsCall): Promise<ToolResult> {
  const ended = jobs.filter((job) => !isLive(job.status) && isMine(job, here.caller.session));
  for (const job of ended) teller.wasTold(job);
  const { usage, charged } = await nestedUsage(here, teller.told, jobs);
  const details: ToldDetails = { told: ended.map(endKey), charged };
  return { content: [{ type: 'text', text }], details, ...(usage === undefined ? {} : { usage }) };
}

function isMine({ record }: JobView, session: string | null): boolean {
  return record.startedBySession === session;
}
