export { DomainId, domainKey, ONLY_DOMAIN } from './domain-id.ts';
export { CanonicalPath, canonicalPath, expandPath, isWithin } from './host-path.ts';
export { InstallationPrefix, type SettingName, type Settings } from './keys.ts';
export {
  type Config,
  configDirectory,
  type Domain,
  type Environment,
  examineConfig,
  loadConfig,
} from './load.ts';
export { domainOf, domainTies } from './project-domain.ts';
