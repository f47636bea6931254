/**
 * The protocol of an OpenSSH client's control socket (PROTOCOL.mux): a greeting, then `proxy`. After that, the socket
 * carries the unencrypted SSH channel messages (RFC 4254) of one connection.
 */

const MUX_HELLO = 0x0000_0001
const MUX_PROXY = 0x1000_000f
const MUX_PROXY_OK = 0x8000_000f
const MUX_VERSION = 4

export const MESSAGE = {
  open: 90,
  confirm: 91,
  refuse: 92,
  adjust: 93,
  data: 94,
  extendedData: 95,
  eof: 96,
  close: 97,
  request: 98,
  requestFailed: 100
} as const

/** The maximum length of a frame. OpenSSH sends at most 256 kB in one packet. */
const FRAME_BYTES_MAX = 300_000

/** A part of the greeting, or a message: padding length, type, fields. */
export type Frame = Buffer

function u32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'utf8')
  return Buffer.concat([u32(bytes.length), bytes])
}

function frame(...parts: Buffer[]): Buffer {
  const sizeBytes = parts.reduce((sum, part) => sum + part.length, 0)
  return Buffer.concat([u32(sizeBytes), ...parts])
}

export const greeting = (): Buffer =>
  Buffer.concat([frame(u32(MUX_HELLO), u32(MUX_VERSION)), frame(u32(MUX_PROXY), u32(0))])

/** `ready`: channels can be opened from now on. `other`: a different protocol. */
export function readGreeting(bytes: Frame): 'hello' | 'ready' | 'other' {
  if (bytes.length < 4) return 'other'
  const type = bytes.readUInt32BE(0)
  if (type === MUX_HELLO && bytes.length >= 8 && bytes.readUInt32BE(4) === MUX_VERSION) return 'hello'
  return type === MUX_PROXY_OK ? 'ready' : 'other'
}

// The first byte is the length of the padding, which the control socket does not use.
const message = (type: number, ...parts: Buffer[]): Buffer => frame(Buffer.from([0, type]), ...parts)

export function openMessage(
  id: number,
  to: { host: string; port: number },
  bounds: { windowBytes: number; packetBytes: number }
): Buffer {
  const from = [text('127.0.0.1'), u32(0)]
  const head = [text('direct-tcpip'), u32(id), u32(bounds.windowBytes), u32(bounds.packetBytes)]
  return message(MESSAGE.open, ...head, text(to.host), u32(to.port), ...from)
}

/** `peerId`: the server's number for the channel. */
export const dataMessage = (peerId: number, bytes: Buffer): Buffer =>
  message(MESSAGE.data, u32(peerId), u32(bytes.length), bytes)
export const adjustMessage = (peerId: number, bytes: number): Buffer => message(MESSAGE.adjust, u32(peerId), u32(bytes))
export const shortMessage = (type: 96 | 97 | 100, peerId: number): Buffer => message(type, u32(peerId))

export type ChannelMessage =
  | { kind: 'confirm'; id: number; peerId: number; windowBytes: number; packetBytes: number }
  | { kind: 'refuse'; id: number; reason: number; text: string }
  | { kind: 'adjust'; id: number; bytes: number }
  | { kind: 'data'; id: number; bytes: Buffer }
  | { kind: 'eof' | 'close'; id: number }
  | { kind: 'request'; id: number; wantsReply: boolean }
  | { kind: 'other' }

const TEXT_BYTES_MAX = 1_000

/** null: not an SSH message, so the data after it cannot be trusted either. */
export function readMessage(bytes: Frame): ChannelMessage | null {
  try {
    return parse(bytes)
  } catch (error) {
    // The message is shorter than its fields.
    if (error instanceof RangeError) return null
    throw error
  }
}

function parse(bytes: Frame): ChannelMessage | null {
  const type = bytes.readUInt8(1)
  if (type < MESSAGE.open || type > MESSAGE.requestFailed) return { kind: 'other' }
  const id = bytes.readUInt32BE(2)
  switch (type) {
    case MESSAGE.confirm: {
      const [peerId, windowBytes, packetBytes] = [6, 10, 14].map((at) => bytes.readUInt32BE(at))
      return { kind: 'confirm', id, peerId: peerId!, windowBytes: windowBytes!, packetBytes: packetBytes! }
    }
    case MESSAGE.refuse: {
      const reason = bytes.readUInt32BE(6)
      return { kind: 'refuse', id, reason, text: stringAt(bytes, 10).subarray(0, TEXT_BYTES_MAX).toString('utf8') }
    }
    case MESSAGE.adjust:
      return { kind: 'adjust', id, bytes: bytes.readUInt32BE(6) }
    case MESSAGE.data:
      return { kind: 'data', id, bytes: stringAt(bytes, 6) }
    case MESSAGE.eof:
      return { kind: 'eof', id }
    case MESSAGE.close:
      return { kind: 'close', id }
    case MESSAGE.request: {
      const name = stringAt(bytes, 6)
      return { kind: 'request', id, wantsReply: bytes.readUInt8(10 + name.length) !== 0 }
    }
  }
  return { kind: 'other' }
}

function stringAt(bytes: Buffer, at: number): Buffer {
  const length = bytes.readUInt32BE(at)
  if (at + 4 + length > bytes.length) throw new RangeError('the text is longer than its message')
  return bytes.subarray(at + 4, at + 4 + length)
}

/** Splits the stream into frames. Keeps an incomplete frame for the next call. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0)

  /** null: a frame is longer than OpenSSH sends. */
  read(piece: Buffer): Frame[] | null {
    let bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece])
    const frames: Frame[] = []
    while (bytes.length >= 4) {
      const length = bytes.readUInt32BE(0)
      if (length > FRAME_BYTES_MAX) return null
      if (bytes.length < 4 + length) break
      frames.push(bytes.subarray(4, 4 + length))
      bytes = bytes.subarray(4 + length)
    }
    this.#rest = bytes
    return frames
  }
}
