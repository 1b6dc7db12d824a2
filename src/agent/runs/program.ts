/**
 * `multi-agent runs …`: a program of its own, for most calls of `multi-agent` are about jobs, and reading what graphs need
 * takes longer than many of those (B11, B14).
 */
import { runCommandLine } from '../../lib/command-line.ts';
import { multiAgent } from '../multi-agent-command.ts';
import { addRunVerbs } from './verbs.ts';

const program = multiAgent();
addRunVerbs(program);
void runCommandLine(program, process.argv);
