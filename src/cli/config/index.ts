/** Configuration of the host's side; see README.md. */
export { hostCertificates } from './certificates.ts';
export { grantConsent } from './consent.ts';
export { showPath } from './deep-merge.ts';
export { DomainId } from './domain-id.ts';
export { passedEnvironment, terminalEnvironment } from './environment.ts';
export { settingFromFlag } from './flag-value.ts';
export { CanonicalPath, canonicalPath, isWithin } from './host-path.ts';
export { parseObject } from './json.ts';
export { DOCUMENTED_KEYS, InstallationPrefix, type Settings } from './keys.ts';
export { legacyTable } from './legacy-table.ts';
export { brainDirectory, mergeLevels } from './levels.ts';
export { type Config, type Domain, type Environment, examineConfig, loadConfig } from './load.ts';
export { mergeSessionConfig, type SessionMerge } from './merge.ts';
export { readOwnFile } from './own-file.ts';
export { type PackedMerge, packMerge } from './pack.ts';
export { domainNamed, domainOf, domainTies } from './project-domain.ts';
export { shownMerge, shownSettings } from './shown-config.ts';
export { shown } from './values.ts';
