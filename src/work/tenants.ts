/** Every tenant of every category of a work root. */
import type { Bounded } from '../lib/bounded-list.ts';
import { entriesOf } from '../lib/directory-entries.ts';
import { type DirectoryHandle, openChildDirectory } from '../lib/directory-handle.ts';
import { messageOf, PiSandboxError } from '../lib/errors.ts';
import { OWN_DIRECTORY } from './layout.ts';
import { isWorkSegment, type WorkSegment } from './names.ts';
import { ifThere } from './places.ts';
import { addProblem } from './problems.ts';
import type { TenantName } from './survey.ts';
import type { WorkProblem } from './types.ts';

/** Tenants beyond that are not seen (rule 7). */
const MOST_TENANTS = 10_000;

/** What is found beside them is told in here. */
interface Findings {
  readonly problems: Bounded<WorkProblem>;
  cut: boolean;
}

/**
 * By category and tenant. One category that cannot be read, or is another file system, keeps no other from being seen.
 *
 * @throws FileError when the root itself cannot be listed
 */
export function tenantsOf(root: DirectoryHandle, findings: Findings): TenantName[] {
  const tenants: TenantName[] = [];
  for (const category of directoriesOf(findings, root, '')) {
    try {
      addTenants(tenants, root, category, findings);
    } catch (error) {
      if (!(error instanceof PiSandboxError)) throw error;
      addProblem(findings.problems, { path: category, kind: 'failed', reason: messageOf(error) });
    }
  }
  return tenants.sort(byPlace);
}

function addTenants(
  tenants: TenantName[],
  root: DirectoryHandle,
  category: WorkSegment,
  findings: Findings,
): void {
  const directory = ifThere(() => openChildDirectory(root, category));
  if (directory === undefined) return;
  try {
    for (const tenant of directoriesOf(findings, directory, `${category}/`)) {
      if (tenants.length < MOST_TENANTS) tenants.push({ category, tenant });
      else findings.cut = true;
    }
  } finally {
    directory.close();
  }
}

function byPlace(a: TenantName, b: TenantName): number {
  if (a.category !== b.category) return a.category < b.category ? -1 : 1;
  return a.tenant < b.tenant ? -1 : 1;
}

function* directoriesOf(
  { problems }: Findings,
  parent: DirectoryHandle,
  prefix: string,
): Generator<WorkSegment, void, undefined> {
  for (const entry of entriesOf(parent)) {
    const { name } = entry;
    if (entry.isDirectory() && isWorkSegment(name)) yield name;
    else if (prefix !== '' || name !== OWN_DIRECTORY) {
      const reason = entry.isDirectory() ? 'no run can be below that name' : 'it is no directory';
      addProblem(problems, { path: `${prefix}${name}`, kind: 'foreign', reason });
    }
  }
}
