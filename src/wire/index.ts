/** The frame protocol that every terminal, relay and supervisor connection speaks; see README.md. */
export * from './audit.ts';
export { ChannelRefusedError } from './channel.ts';
export { Channels, type ChannelsOptions } from './channels.ts';
export { type Closing, FrameConnection, type FrameHandler, type StreamPair } from './connection.ts';
export { FrameDecoder } from './decoder.ts';
export { DomainTable, tableFingerprint } from './domain-table.ts';
export { INPUT_WINDOW_BYTES, InputCredit, InputLedger, sendInput } from './flow.ts';
export {
  encodeFrame,
  type Frame,
  type FrameType,
  MAX_PAYLOAD_BYTES,
  PIECE_BYTES,
  WireError,
} from './frame.ts';
export * from './history.ts';
export { joinStreams } from './join-streams.ts';
export * from './protocol.ts';
export * from './relay.ts';
export * from './sandbox-config.ts';
export * from './selftest.ts';
export * from './transfer.ts';
