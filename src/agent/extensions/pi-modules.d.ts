/**
 * The two modules of pi that its extensions share with it, as far as ours use them. pi's own declarations are not a
 * dependency: pi is the user's, and only the running one has these modules (they are external to our bundles).
 */
declare module '@earendil-works/pi-ai' {
  export function createAssistantMessageEventStream(): import('../../pi/index.ts').MessageStream;
}

declare module '@earendil-works/pi-coding-agent' {
  export const SessionManager: { prototype: object };
}
