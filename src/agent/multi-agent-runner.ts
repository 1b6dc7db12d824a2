/**
 * The runner of one background job (J2-J4): `multi-agent-runner <job directory>`, with the job's locked file open as
 * descriptor 3. Only `multi-agent` starts it.
 */
import { homedir } from 'node:os';
import { runnerProgram } from '../jobs/index.ts';

process.exitCode = await runnerProgram(process, homedir());
