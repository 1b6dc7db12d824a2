import { statSync } from 'node:fs';
import { EXIT } from '../../lib/errors.ts';
import { jsonText } from '../../lib/json-text.ts';
import { domainNamed } from '../config/index.ts';
import { openConfiguration } from '../context.ts';
import type { GlobalOptions } from '../global-options.ts';
import { planImage } from '../sandbox/image.ts';
import { buildWithProgress } from '../sandbox/image-on-demand.ts';
import { carryOut, type ImportResult } from '../sandbox/moving/import-into.ts';
import { importAsJson, tellPlan, tellResult } from '../sandbox/moving/import-lines.ts';
import { agentDirectoryOf, openPlainPi } from '../sandbox/moving/plain-pi.ts';
import { chosen, type ImportPlan, isEmpty, planImport } from '../sandbox/moving/plan.ts';
import { sandboxUser } from '../sandbox/project.ts';
import { confirm } from '../ui/prompt.ts';
import { info } from '../ui/report.ts';

export interface ImportOptions extends GlobalOptions {
  from?: string;
  history?: boolean;
  login?: boolean;
  config?: boolean;
  domain?: string;
  replaceLogin?: boolean;
  dryRun?: boolean;
  yes?: boolean;
  json?: boolean;
}

/** Takes what a plain pi has on this machine over into the domains: copies only, after showing what (S15). */
export async function importPi(options: ImportOptions): Promise<number> {
  const { config, env, home, openDefault } = await openConfiguration(options);
  const domain = options.domain === undefined ? undefined : domainNamed(config, options.domain);
  const pi = openPlainPi(agentDirectoryOf(options.from, env, home));
  const plan = planImport(pi, {
    config,
    wanted: chosen(options),
    domain,
    env,
    home,
    given: options.from !== undefined,
    now: Date.now(),
  });
  if (options.json !== true) tellPlan(plan, config);
  if (options.dryRun === true || isEmpty(plan)) return finish(plan, undefined, options);
  const question = `Copy this? ${plan.from} stays as it is.`;
  if (!(await confirm(question, '--yes, or look with --dry-run', options.yes))) return EXIT.failed;
  const engine = await openDefault();
  try {
    const image = planImage(config.INSTALLATION_PREFIX, config);
    if ((await engine.images.inspect(image.name)) === undefined)
      await buildWithProgress({ config, env }, engine, image, {});
    const user = sandboxUser({
      env,
      getuid: process.getuid?.bind(process),
      getgid: process.getgid?.bind(process),
      projectOwner: projectOwner(plan) ?? pi.owner,
      rootlessOwner: await engine.rootlessOwner(),
      config,
    });
    const replaceLogin = options.replaceLogin === true;
    const result = await carryOut({ engine, config, image: image.name, user }, plan, { replaceLogin });
    return finish(plan, result, options);
  } finally {
    engine.close();
  }
}

/** As root one runs as the owner of a project (S2): of the first that is still there. */
function projectOwner({ history }: ImportPlan): { uid: number; gid: number } | undefined {
  for (const directory of history?.survey.directories ?? []) {
    const stats = statSync(directory, { throwIfNoEntry: false });
    if (stats?.isDirectory()) return { uid: stats.uid, gid: stats.gid };
  }
  return undefined;
}

/** 1 when something that was planned did not come over. */
function finish(plan: ImportPlan, result: ImportResult | undefined, options: ImportOptions): number {
  if (options.json === true) process.stdout.write(`${jsonText(importAsJson(plan, result), 2)}\n`);
  if (result === undefined) {
    if (isEmpty(plan)) info(`there is nothing to import in ${plan.from}`);
    return 0;
  }
  if (options.json !== true) tellResult(result);
  const failed =
    result.history.some(({ report }) => report.failed.items.length > 0) ||
    result.signIns.some(({ outcome }) => outcome === 'blocked');
  return failed ? EXIT.failed : 0;
}
