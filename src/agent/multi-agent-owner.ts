/**
 * The owner of one run of a graph (R6): `multi-agent-owner <run directory>`, with the run's locked file open as descriptor
 * 3. Only `multi-agent` starts it. A sandbox does not end while it runs (S14).
 */
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { ownerProgram } from '../runs/index.ts';
import { makePresence } from './presence.ts';

const [, , directory = ''] = process.argv;
const presence = makePresence(process.env);
void presence.announce({ kind: 'run', id: directory, name: basename(directory) });
process.exitCode = await ownerProgram(process, homedir(), {
  // The build puts both beside this program.
  runner: { command: process.execPath, args: [join(import.meta.dirname, 'multi-agent-runner.mjs')] },
  shippedProfiles: join(import.meta.dirname, 'profiles'),
});
presence.close();
