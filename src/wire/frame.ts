/**
 * One frame on the wire: `[u8 type][u32be length][payload]` (H2). Raw payloads are handed on as they are, every
 * other payload is checked by the schemas of `protocol.ts` and `relay.ts` before anyone sees it.
 */
import * as z from 'zod/mini';
import { messageOf, OperationError } from '../lib/errors.ts';
import {
  Detached,
  Exited,
  Hello,
  OpenReply,
  OpenRequest,
  OutputClosed,
  Signal,
  Status,
  TerminalSize,
} from './protocol.ts';
import { ChannelEvent } from './relay.ts';

/** The peer broke the frame protocol, or what it sent cannot be handled. The connection is of no further use. */
export class WireError extends OperationError {}

/** Bytes before each payload. */
export const HEADER_BYTES = 5;
/** The longest payload that is accepted; a longer one is refused by its header alone (rule 7). */
export const MAX_PAYLOAD_BYTES = 1024 * 1024;
/** Raw bytes are sent in pieces of this size, so that a resize or a signal never waits behind a long frame. */
export const PIECE_BYTES = 64 * 1024;
/** The number of its channel, in front of a channel's bytes. */
const CHANNEL_BYTES = 4;
/** Up to here one buffer is cheaper to write than a header and a payload of its own. */
const JOINED_BYTES = 2 * 1024;

/** The place in this list, counted from 1, is the type's number on the wire: only ever append. */
const FRAME_TYPES = [
  'hello',
  'open',
  'reply',
  'data',
  'error-data',
  'end-of-input',
  'ack',
  'resize',
  'signal',
  'output-closed',
  'blob',
  'status',
  'detached',
  'exited',
  'control',
  'bye',
  'channel',
  'channel-data',
] as const;

export type FrameType = (typeof FRAME_TYPES)[number];

/** What travels as it is: standard input and output (`data`), standard error, the merge's tar (`blob`). */
type RawFrame = { type: 'data' | 'error-data' | 'blob'; bytes: Uint8Array };

export type Frame =
  | RawFrame
  | { type: 'hello'; value: Hello }
  | { type: 'open'; value: OpenRequest }
  | { type: 'reply'; value: OpenReply }
  /** Standard input has ended on purpose; a stream that merely stops means that the client died. */
  | { type: 'end-of-input' }
  /** So many more bytes of standard input were taken by the program. */
  | { type: 'ack'; consumed: number }
  | { type: 'resize'; value: TerminalSize }
  | { type: 'signal'; value: z.infer<typeof Signal> }
  | { type: 'output-closed'; value: z.infer<typeof OutputClosed> }
  | { type: 'status'; value: Status }
  | { type: 'detached'; value: z.infer<typeof Detached> }
  | { type: 'exited'; value: Exited }
  /** Reserved: JSON whose meaning a later request kind defines. */
  | { type: 'control'; value: unknown }
  /** Opens, answers, acknowledges and ends the byte streams of a relay; see `channels.ts`. */
  | { type: 'channel'; value: ChannelEvent }
  /** Bytes of one of them. */
  | { type: 'channel-data'; channel: number; bytes: Uint8Array }
  /** The sender is through with this connection. */
  | { type: 'bye' };

/** The longest payload of each type whose own bound is below {@link MAX_PAYLOAD_BYTES}. */
const BOUNDS: Partial<Record<FrameType, number>> = {
  // Before the token is checked a stranger may be speaking: give it little room.
  hello: 16 * 1024,
  'end-of-input': 0,
  ack: 4,
  resize: 4,
  bye: 0,
  channel: 4 * 1024,
  'channel-data': CHANNEL_BYTES + PIECE_BYTES,
};

/** The frame type of a header's first byte. */
export function typeOfNumber(number: number): FrameType | undefined {
  return FRAME_TYPES[number - 1];
}

/** The longest payload that a frame of this type may announce. */
export function maxPayload(type: FrameType): number {
  return BOUNDS[type] ?? MAX_PAYLOAD_BYTES;
}

/**
 * The bytes of one frame, ready to be written one after the other. Raw bytes beyond {@link PIECE_BYTES} become
 * several frames; they are not copied, so the caller must leave them as they are until they are written.
 *
 * @throws WireError when the payload is longer than its type allows
 */
export function encodeFrame(frame: Frame): Uint8Array[] {
  switch (frame.type) {
    case 'data':
    case 'error-data':
    case 'blob':
      return encodeRaw(frame);
    case 'channel-data':
      return encodeChannelData(frame.channel, frame.bytes);
    case 'end-of-input':
    case 'bye':
      return [header(frame.type, 0)];
    case 'ack': {
      const bytes = header('ack', 4, 4);
      bytes.writeUInt32BE(frame.consumed, HEADER_BYTES);
      return [bytes];
    }
    case 'resize': {
      const bytes = header('resize', 4, 4);
      bytes.writeUInt16BE(frame.value.columns, HEADER_BYTES);
      bytes.writeUInt16BE(frame.value.rows, HEADER_BYTES + 2);
      return [bytes];
    }
    default:
      return join(frame.type, Buffer.from(JSON.stringify(frame.value ?? null)));
  }
}

function encodeRaw({ type, bytes }: RawFrame): Uint8Array[] {
  if (bytes.length <= PIECE_BYTES) return join(type, bytes);
  const parts: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    const piece = bytes.subarray(at, at + PIECE_BYTES);
    parts.push(header(type, piece.length), piece);
  }
  return parts;
}

function encodeChannelData(channel: number, bytes: Uint8Array): Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    const piece = bytes.subarray(at, at + PIECE_BYTES);
    const head = header('channel-data', CHANNEL_BYTES + piece.length, CHANNEL_BYTES);
    head.writeUInt32BE(channel, HEADER_BYTES);
    parts.push(head, piece);
  }
  return parts;
}

function join(type: FrameType, payload: Uint8Array): Uint8Array[] {
  if (payload.length > maxPayload(type)) {
    throw new WireError(
      `${type} frame of ${payload.length} bytes cannot be sent: ${maxPayload(type)} bytes are allowed`,
    );
  }
  if (payload.length > JOINED_BYTES) return [header(type, payload.length), payload];
  const bytes = header(type, payload.length, payload.length);
  bytes.set(payload, HEADER_BYTES);
  return [bytes];
}

function header(type: FrameType, length: number, room = 0): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + room);
  bytes[0] = FRAME_TYPES.indexOf(type) + 1;
  bytes.writeUInt32BE(length, 1);
  return bytes;
}

/**
 * The frame of a complete payload.
 *
 * @throws WireError when the payload is not what its type says
 */
export function parsePayload(type: FrameType, payload: Buffer): Frame {
  switch (type) {
    case 'data':
    case 'error-data':
    case 'blob':
      return { type, bytes: payload };
    case 'channel-data':
      if (payload.length < CHANNEL_BYTES) expectLength(type, payload, CHANNEL_BYTES);
      return { type, channel: payload.readUInt32BE(0), bytes: payload.subarray(CHANNEL_BYTES) };
    case 'end-of-input':
    case 'bye':
      return { type };
    case 'ack':
      expectLength(type, payload, 4);
      return { type, consumed: payload.readUInt32BE(0) };
    case 'resize':
      expectLength(type, payload, 4);
      return {
        type,
        value: check(type, TerminalSize, { columns: payload.readUInt16BE(0), rows: payload.readUInt16BE(2) }),
      };
    case 'hello':
      return { type, value: check(type, Hello, json(type, payload)) };
    case 'open':
      return { type, value: check(type, OpenRequest, json(type, payload)) };
    case 'reply':
      return { type, value: check(type, OpenReply, json(type, payload)) };
    case 'signal':
      return { type, value: check(type, Signal, json(type, payload)) };
    case 'output-closed':
      return { type, value: check(type, OutputClosed, json(type, payload)) };
    case 'status':
      return { type, value: check(type, Status, json(type, payload)) };
    case 'detached':
      return { type, value: check(type, Detached, json(type, payload)) };
    case 'exited':
      return { type, value: check(type, Exited, json(type, payload)) };
    case 'control':
      return { type, value: json(type, payload) };
    case 'channel':
      return { type, value: check(type, ChannelEvent, json(type, payload)) };
  }
}

function expectLength(type: FrameType, payload: Buffer, length: number): void {
  if (payload.length !== length) {
    throw new WireError(`malformed ${type} frame: ${payload.length} bytes instead of ${length}`);
  }
}

function json(type: FrameType, payload: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload));
  } catch (cause) {
    throw new WireError(`malformed ${type} frame: ${messageOf(cause).slice(0, 200)}`, { cause });
  }
}

function check<T>(type: FrameType, schema: z.ZodMiniType<T>, value: unknown): T {
  const result = z.safeParse(schema, value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const where = issue && issue.path.length > 0 ? ` at ${issue.path.map(String).join('.')}` : '';
  const reason = `${issue?.message ?? 'not what the protocol allows'}${where}`;
  throw new WireError(`malformed ${type} frame: ${reason.slice(0, 200)}`);
}
