/**
 * The program behind `pi-sandbox doctor <project>` that looks at agent directories (W12): by exec in a running sandbox,
 * else in a helper container that has the volumes read-only. The request is its argument, the answer one JSON value on
 * standard output. It changes nothing, and judges nothing.
 */
import { agentDirAt, auditAgentDir, openAgentDir } from '../agent-dir/index.ts';
import { messageOf } from '../lib/errors.ts';
import { AUDIT_VERSION, type AuditAnswer, type AuditRequest, auditRequest } from '../wire/index.ts';

type Place = AuditAnswer['places'][number];

function look({ where, path, skipLinks }: AuditRequest['places'][number]): Place[] {
  try {
    const top = openAgentDir(agentDirAt(path));
    if (top === undefined) return [];
    try {
      const { entries, ...rest } = auditAgentDir(top, { skipLinks });
      return [{ where, ...rest, entries: [...entries] }];
    } finally {
      top.close();
    }
  } catch (error) {
    return [{ where, problem: messageOf(error) }];
  }
}

try {
  const { places } = auditRequest().parse(JSON.parse(process.argv[2] ?? 'null'));
  process.stdout.write(`${JSON.stringify({ version: AUDIT_VERSION, places: places.flatMap(look) })}\n`);
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = 1;
}
