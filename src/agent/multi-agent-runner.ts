/**
 * The runner of one background job (J2-J4): `multi-agent-runner <job directory>`, with the job's locked file open as
 * descriptor 3. Only `multi-agent` starts it. A sandbox does not end while it runs (S14).
 */
import { homedir } from 'node:os';
import { basename } from 'node:path';
import { runnerProgram } from '../jobs/index.ts';
import { makePresence } from './presence.ts';

const [, , directory = ''] = process.argv;
const presence = makePresence(process.env);
void presence.announce({ kind: 'job', id: directory, name: basename(directory) });
process.exitCode = await runnerProgram(process, homedir());
presence.close();
