/** What lies in the agent directory of one project's sandbox and does not belong there (W12). */
import { bytes, duration } from '../../lib/table.ts';
import type { AuditAnswer } from '../../wire/index.ts';
import { domainOf } from '../config/index.ts';
import { auditSandbox } from '../sandbox/audit-program.ts';
import { planImage } from '../sandbox/image.ts';
import { type Project, sandboxUser } from '../sandbox/project.ts';
import { sandboxOf } from '../sandbox/sandbox.ts';
import { ok, problem, type Row, warning } from './row.ts';
import type { Scene } from './scene.ts';

export const AGENT_DIRECTORY = 'agent directory';

/** The project whose sandbox is looked at, as the command line names it. */
export interface ChosenProject {
  readonly project: Project;
  readonly domain: string | undefined;
  readonly env: NodeJS.ProcessEnv;
}

export async function checkAgentDir(scene: Scene, { project, domain, env }: ChosenProject): Promise<Row[]> {
  const { config, engine } = scene;
  const user = sandboxUser({
    env,
    getuid: process.getuid?.bind(process),
    getgid: process.getgid?.bind(process),
    projectOwner: project.owner,
    config,
    rootlessOwner: await engine.rootlessOwner(),
  });
  const sandbox = sandboxOf(config, domainOf(config, project.canonical, domain), project, user);
  const image = planImage(config.INSTALLATION_PREFIX, config).name;
  if ((await engine.images.inspect(image)) === undefined) {
    return [
      problem(
        AGENT_DIRECTORY,
        `not known: the image ${image}, which looks, is missing`,
        'pi-sandbox image build',
      ),
    ];
  }
  const answer = await auditSandbox(engine, sandbox, image);
  if (answer === undefined) return [ok(AGENT_DIRECTORY, 'none yet: the first start makes it')];
  const rows = answer.places.flatMap((place) => rowsOf(place, project.display));
  return rows.length > 0 ? rows : [ok(AGENT_DIRECTORY, 'nothing that does not belong there')];
}

/** A warning for each entry, and for what was not looked at or not listed. */
export function rowsOf(place: AuditAnswer['places'][number], project: string): Row[] {
  const { where } = place;
  const look = `look at it: pi-sandbox shell ${project}`;
  if ('problem' in place) return [problem(AGENT_DIRECTORY, `${where}: ${place.problem}`, look)];
  const rows = place.entries.map(({ name, kind, bytes: size, atLeast, ageMs, migrates }) => {
    const named = kind === 'directory' ? `${name}/` : name;
    const facts = `${atLeast ? 'at least ' : ''}${bytes(size)}, ${duration(ageMs)} old`;
    const moved = 'a start that is alone on the volume moves it';
    return warning(AGENT_DIRECTORY, `${where}: ${named}, ${facts}`, migrates ? moved : look);
  });
  if (place.omitted > 0) rows.push(warning(AGENT_DIRECTORY, `${where}: and ${place.omitted} more`, look));
  if (place.cut) rows.push(warning(AGENT_DIRECTORY, `${where}: too many entries to look at all`, look));
  return rows;
}
