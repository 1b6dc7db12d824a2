export type { ContainerInfo, ContainerState, ContainerSummary } from './clients/container-info.ts';
export type { ContainerClient, ContainerExit, CreateResult, StartResult } from './clients/containers.ts';
export type { ExecExit, ExecRequest, ExecResult, ExecSession } from './clients/exec.ts';
export type { LabelFilter } from './clients/fields.ts';
export type { BuildRequest, ImageClient, ImageInfo, ImportRequest } from './clients/images.ts';
export type { NetworkClient, NetworkInfo, NetworkResult, NetworkSpec } from './clients/networks.ts';
export type { ProgramStreams } from './clients/streams.ts';
export type { EngineInfo, SystemClient } from './clients/system.ts';
export type { VolumeClient, VolumeInfo } from './clients/volumes.ts';
export type { ContainerSpec, MountSpec, PublishSpec, TmpfsSpec } from './container-spec.ts';
export type { StreamEnd } from './demux.ts';
export {
  EngineConnectionError,
  EngineError,
  ImageBuildError,
  NoEngineFoundError,
  NoSuchNetworkError,
} from './errors.ts';
export { type Engine, openEngine } from './open-engine.ts';
