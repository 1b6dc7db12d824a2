/**
 * What is said about relays: which there are, the channels in them, and the ports that they can lead to (S10, S14).
 */
import * as z from 'zod/mini';

/** What a sandbox's programs can reach on the user's machine through a relay (S10). */
export const RelayService = z.enum(['ssh-agent', 'git-credentials']);
export type RelayService = z.infer<typeof RelayService>;

const port = z.int().check(z.minimum(1), z.maximum(65_535));

/** Where a channel leads: from the host to a listener in the sandbox (S14), from the sandbox to a service (S10). */
export const ChannelTarget = z.discriminatedUnion('to', [
  z.object({ to: z.literal('port'), port }),
  z.object({ to: z.literal('service'), service: RelayService }),
]);
export type ChannelTarget = z.infer<typeof ChannelTarget>;

/** What happens to a channel; its number was chosen by whoever opened it. */
export const ChannelEvent = z.discriminatedUnion('event', [
  z.object({ event: z.literal('open'), channel: z.uint32(), target: ChannelTarget }),
  z.object({ event: z.literal('opened'), channel: z.uint32() }),
  z.object({
    event: z.literal('refused'),
    channel: z.uint32(),
    reason: z.string().check(z.maxLength(1_000)),
  }),
  /** So many more bytes of the channel were taken. */
  z.object({ event: z.literal('ack'), channel: z.uint32(), consumed: z.uint32() }),
  /** The sender writes no more into it. */
  z.object({ event: z.literal('end'), channel: z.uint32() }),
  /** It is gone in both directions, with what was on its way. */
  z.object({ event: z.literal('close'), channel: z.uint32() }),
]);
export type ChannelEvent = z.infer<typeof ChannelEvent>;

/**
 * Opens a relay: byte streams in `channel` and `channel-data` frames, until either side ends the connection. Only a
 * `forward` counts as a client for whose sake the sandbox runs; services end with it (S14).
 */
export const RelayRequest = z.object({
  verb: z.literal('relay'),
  /** Shown by `ps`. */
  kind: z.enum(['forward', 'services']),
  services: z.array(RelayService).check(z.maxLength(8)),
});
export type RelayRequest = z.infer<typeof RelayRequest>;

/** Asks which ports something in the sandbox listens on; answered by one `reply` frame with {@link Listeners}. */
export const ListenersRequest = z.object({ verb: z.literal('listeners') });

/** Sockets that take connections in the sandbox, as the kernel lists them. */
export const Listeners = z
  .array(
    z.object({
      port,
      /** `127.0.0.1`, `0.0.0.0`, `::`, … */
      address: z.string().check(z.maxLength(64)),
      /** The process, where it can be told. */
      pid: z.optional(z.int()),
      command: z.optional(z.string().check(z.maxLength(200))),
    }),
  )
  .check(z.maxLength(1_000));
export type Listeners = z.infer<typeof Listeners>;
