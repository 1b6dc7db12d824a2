/** Reading the three levels and laying one over the other (S8). */
import { join } from 'node:path';
import {
  type MergedFile,
  namesIn,
  newBudget,
  type ReadBudget,
  readCounted,
  readTree,
} from './config-tree.ts';
import { answerTo, readConsents } from './consent.ts';
import { mergeOver, NOTHING, type Origin, type Traced } from './deep-merge.ts';
import type { DomainId } from './domain-id.ts';
import type { CanonicalPath } from './host-path.ts';
import { isObject, type Json, type JsonObject, ownValue, parseObject } from './json.ts';
import type { Config } from './load.ts';
import {
  allowedSettings,
  consentEntries,
  type MissingConsent,
  PROJECT_DIRECTORY,
  readProjectFiles,
} from './project-level.ts';

/** Directories whose entries are merged by name, the domain's winning. */
const TREES = ['extensions', 'skills', 'prompts', 'themes'];
/** Single files of which the domain's replaces the global one. */
const SINGLE = ['keybindings.json', 'SYSTEM.md', 'APPEND_SYSTEM.md'];
const MERGED = ['settings.json', 'models.json', 'mcp.json', 'AGENTS.md'];

export interface LevelsOptions {
  readonly config: Config;
  readonly domain: DomainId;
  /** Without one, only global and domain level are read. */
  readonly project?: CanonicalPath;
  readonly trustProject?: boolean;
}

/** Origins of one merged JSON file. */
export interface FileOrigins {
  readonly file: 'settings.json' | 'models.json' | 'mcp.json';
  readonly value: JsonObject;
  readonly origins: readonly Origin[];
}

export interface MergedLevels {
  readonly files: readonly MergedFile[];
  readonly origins: readonly FileOrigins[];
  readonly warnings: readonly string[];
  readonly consentNeeded: readonly MissingConsent[];
}

/** What has been merged so far; one per call, filled level by level. */
interface Merging {
  settings: Traced;
  models: Traced;
  mcp: Traced;
  readonly instructions: { heading: string; text: string; from: string }[];
  readonly entries: Map<string, readonly MergedFile[]>;
  readonly warnings: string[];
  readonly consentNeeded: MissingConsent[];
  readonly budget: ReadBudget;
}

export async function mergeLevels(options: LevelsOptions): Promise<MergedLevels> {
  const { config, domain } = options;
  const merging: Merging = {
    settings: NOTHING,
    models: NOTHING,
    mcp: NOTHING,
    instructions: [],
    entries: new Map(),
    warnings: [],
    consentNeeded: [],
    budget: newBudget(),
  };
  const global = join(config.directory, 'config');
  if (await addOwnLevel(merging, global, 'Instructions for every project', ['domains'])) {
    await addOwnLevel(
      merging,
      join(global, 'domains', domain),
      `Instructions for the domain "${domain}"`,
      [],
    );
  }
  addBrain(merging, options);
  if (options.project !== undefined) await addProjectLevel(merging, options, options.project);
  return finish(merging);
}

/** Where a domain's brain is mounted in its sandboxes, and another's that was asked for (S9). */
export function brainDirectory(domain: DomainId): string {
  return `/brain/${domain}`;
}

/** Agents know of the brain by the instructions alone (S9). */
function addBrain(merging: Merging, { config, domain }: LevelsOptions): void {
  const own = config.domains.find(({ id }) => id === domain);
  const other = config.domains.find(({ id, brain }) => id !== domain && brain !== undefined);
  const others = `directories in /brain, where there are any, are the notes of
other domains, to be read only.`;
  if (own?.brain !== undefined) {
    const text = `Notes that outlive a Session are kept in ${brainDirectory(domain)}. Before you begin, read there what bears on
the task; write down there what will be of use later. Other ${others}`;
    const heading = `Memory of the domain "${domain}"`;
    merging.instructions.push({ heading, text, from: `BRAIN_${own.key}_PATH` });
  } else if (other !== undefined) {
    // A start with --with-domain may have mounted it, and a later one, which joins, does not say so.
    const from = `BRAIN_${other.key}_PATH`;
    merging.instructions.push({ heading: 'Memory of other domains', text: `The ${others}`, from });
  }
}

/** True when the directory holds anything. */
async function addOwnLevel(
  merging: Merging,
  directory: string,
  heading: string,
  passedOver: readonly string[],
): Promise<boolean> {
  const names = await namesIn(directory, merging.budget);
  for (const name of names) {
    const path = join(directory, name);
    if (TREES.includes(name)) {
      for (const entry of await namesIn(path, merging.budget)) {
        if (entry === '.git') continue;
        const to = `config/${name}/${entry}`;
        merging.entries.set(to, await readTree(join(path, entry), to, merging.budget));
      }
    } else if (SINGLE.includes(name) || MERGED.includes(name)) {
      const file = await readCounted(path, `config/${name}`, merging.budget);
      if (file !== undefined) addOwnFile(merging, name, file, heading);
    } else if (!passedOver.includes(name) && !name.startsWith('.') && !/^README/i.test(name)) {
      merging.warnings.push(
        `${path}: is ignored; known here are ${[...MERGED, ...SINGLE, ...TREES].join(', ')}`,
      );
    }
  }
  return names.length > 0;
}

function addOwnFile(merging: Merging, name: string, file: MergedFile, heading: string): void {
  const text = file.content.toString('utf8');
  if (name === 'settings.json')
    merging.settings = mergeOver(merging.settings, parseObject(text, file.from), file.from);
  else if (name === 'models.json')
    merging.models = mergeOver(merging.models, parseObject(text, file.from, true), file.from);
  else if (name === 'mcp.json')
    merging.mcp = mergeServers(merging.mcp, parseObject(text, file.from), file.from);
  else if (name === 'AGENTS.md') merging.instructions.push({ heading, text, from: file.from });
  else {
    if (name === 'keybindings.json') parseObject(text, file.from);
    merging.entries.set(file.path, [file]);
  }
}

async function addProjectLevel(
  merging: Merging,
  options: LevelsOptions,
  project: CanonicalPath,
): Promise<void> {
  const { files, warnings } = await readProjectFiles(project, merging.budget);
  merging.warnings.push(...warnings);
  const pathOf = (name: string): string => join(project, PROJECT_DIRECTORY, name);
  const settings = files.get('settings.json');
  if (settings !== undefined) {
    const allowed = allowedSettings(parseObject(settings, pathOf('settings.json')), pathOf('settings.json'));
    merging.warnings.push(...allowed.warnings);
    merging.settings = mergeOver(merging.settings, allowed.value, pathOf('settings.json'));
  }
  const models = files.get('models.json');
  if (models !== undefined) {
    const parsed = parseObject(models, pathOf('models.json'), true);
    const providers = await consented(
      merging,
      options,
      project,
      parsed,
      'model-provider',
      pathOf('models.json'),
    );
    merging.models = mergeOver(merging.models, { providers }, pathOf('models.json'));
  }
  const mcp = files.get('mcp.json');
  if (mcp !== undefined) {
    const parsed = parseObject(mcp, pathOf('mcp.json'));
    const mcpServers = await consented(merging, options, project, parsed, 'mcp-server', pathOf('mcp.json'));
    merging.mcp = mergeServers(merging.mcp, { mcpServers }, pathOf('mcp.json'));
  }
  const text = files.get('AGENTS.md');
  if (text !== undefined) {
    merging.instructions.push({ heading: 'Instructions of this project', text, from: pathOf('AGENTS.md') });
  }
}

/** The entries of a project's file that the user has agreed to; the others become warnings and `consentNeeded`. */
async function consented(
  merging: Merging,
  options: LevelsOptions,
  project: CanonicalPath,
  parsed: JsonObject,
  kind: 'mcp-server' | 'model-provider',
  path: string,
): Promise<JsonObject> {
  const { entries, others } = consentEntries(parsed, kind);
  if (others.length > 0)
    merging.warnings.push(`${path}: ${others.slice(0, 10).join(', ')} ignored at the project's level`);
  const ask = entries.length > 0 && options.trustProject !== true;
  const consents = ask ? await readConsents(options.config, project) : undefined;
  const agreed: [string, Json][] = [];
  for (const { name, value, item } of entries) {
    const answer = consents === undefined ? 'agreed' : answerTo(consents, item);
    if (answer === 'agreed') agreed.push([name, value]);
    else {
      const refused = answer === 'refused';
      merging.consentNeeded.push({ ...item, refused });
      const why = refused ? 'ignored, since you refused it' : 'ignored without your consent';
      merging.warnings.push(`${path}: ${why}: ${item.summary}; --trust-project-config accepts it`);
    }
  }
  return Object.fromEntries(agreed);
}

/** A server is replaced whole: half of one server and half of another is neither. */
function mergeServers(earlier: Traced, later: JsonObject, file: string): Traced {
  const before = ownValue(earlier.value, 'mcpServers');
  const servers = ownValue(later, 'mcpServers');
  if (!isObject(before) || !isObject(servers)) return mergeOver(earlier, later, file);
  const kept = Object.entries(before).filter(([name]) => !Object.hasOwn(servers, name));
  const value = { ...earlier.value, mcpServers: Object.fromEntries(kept) };
  const origins = earlier.origins.filter(
    ({ path: [top, name] }) => top !== 'mcpServers' || name === undefined || !Object.hasOwn(servers, name),
  );
  return mergeOver({ value, origins }, later, file);
}

function finish(merging: Merging): MergedLevels {
  const origins: FileOrigins[] = [
    { file: 'settings.json', ...merging.settings },
    { file: 'models.json', ...withGroup(merging.models, 'providers') },
    { file: 'mcp.json', ...withGroup(merging.mcp, 'mcpServers') },
  ];
  const files: MergedFile[] = origins.map(({ file, value, origins: traced }) => ({
    path: file,
    content: Buffer.from(`${JSON.stringify(value, null, 2)}\n`),
    executable: false,
    from: [...new Set(traced.map((origin) => origin.file))].join(', '),
  }));
  if (merging.instructions.length > 0) {
    const text = merging.instructions.map((part) => `# ${part.heading}\n\n${part.text.trim()}\n`).join('\n');
    const from = merging.instructions.map((part) => part.from).join(', ');
    files.push({ path: 'AGENTS.md', content: Buffer.from(text), executable: false, from });
  }
  for (const entry of merging.entries.values()) files.push(...entry);
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { files, origins, warnings: merging.warnings, consentNeeded: merging.consentNeeded };
}

/** pi refuses these files without their one group. */
function withGroup(traced: Traced, group: string): Traced {
  return Object.hasOwn(traced.value, group) ? traced : { ...traced, value: { ...traced.value, [group]: {} } };
}
