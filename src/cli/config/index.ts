/** Configuration of the host's side; see README.md. */

export { type Certificates, hostCertificates } from './certificates.ts';
export { type Consents, grantConsent, hasConsent, readConsents } from './consent.ts';
export { showPath } from './deep-merge.ts';
export { DomainId, domainKey, ONLY_DOMAIN } from './domain-id.ts';
export { type PassedEnvironment, passedEnvironment, terminalEnvironment } from './environment.ts';
export { settingFromFlag } from './flag-value.ts';
export { CanonicalPath, canonicalPath, expandPath, isWithin } from './host-path.ts';
export { DOCUMENTED_KEYS, InstallationPrefix, type SettingName, type Settings } from './keys.ts';
export { mergeLevels } from './levels.ts';
export {
  type Config,
  configDirectory,
  type Domain,
  type Environment,
  examineConfig,
  type LoadOptions,
  loadConfig,
} from './load.ts';
export { type MergeOptions, mergeSessionConfig, type SessionMerge } from './merge.ts';
export { type PackedMerge, packMerge } from './pack.ts';
export { domainOf, domainTies } from './project-domain.ts';
export type { ConsentItem } from './project-level.ts';
export { shownMerge, shownSettings } from './shown-config.ts';
export { type NetworkPool, shown } from './values.ts';
