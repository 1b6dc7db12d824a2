import type { ImageEngine } from '../../../src/cli/sandbox/image-plan.ts';
import { type BuildRequest, ImageBuildError, type ImageInfo } from '../../../src/engine/index.ts';

export function standInImage(tag: string, labels: Record<string, string>): ImageInfo {
  return { id: `sha256:${tag}`, tags: [tag], labels, sizeBytes: 1, createdAt: 0 };
}

interface StandIn {
  images: ImageInfo[];
  inUse?: string[];
  /** The log of a build that fails, or undefined for one that works. */
  build?: (request: BuildRequest) => string | undefined;
}

/** An engine's images in memory, which records what is built and removed. */
export function engineStandIn({ images, inUse = [], build = () => undefined }: StandIn) {
  const builds: BuildRequest[] = [];
  const removed: string[] = [];
  const engine: ImageEngine = {
    local: true,
    images: {
      inspect: async (name) => images.find(({ tags }) => tags.includes(name)),
      list: async (filter) =>
        images.filter(({ labels }) => Object.entries(filter).every(([key, value]) => labels[key] === value)),
      build: async (request) => {
        builds.push(request);
        const log = build(request);
        if (log !== undefined) throw new ImageBuildError('stand-in', 'cannot build', log);
      },
      importTar: () => Promise.reject(new Error('no import in this test')),
      tag: () => Promise.reject(new Error('no tag in this test')),
      remove: async (name) => {
        if (inUse.includes(name)) return 'in-use';
        removed.push(name);
        return 'removed';
      },
    },
  };
  return { engine, builds, removed };
}
