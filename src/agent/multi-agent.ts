/**
 * `multi-agent`: named background agents, wherever pi runs (J1-J16), and graphs of them (R4): two programs behind one
 * name, of which only the one that is called is read.
 */
const verb = process.argv.slice(2).find((word) => !word.startsWith('-'));
void (verb === 'runs' ? import('./runs/program.ts') : import('./jobs/program.ts'));
