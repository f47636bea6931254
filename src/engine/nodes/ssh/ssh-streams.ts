import { Duplex } from 'node:stream'
import { plain, say } from '../../../shared/texts/message.ts'
import {
  adjustMessage,
  type ChannelMessage,
  dataMessage,
  FrameReader,
  greeting,
  MESSAGE,
  openMessage,
  readGreeting,
  readMessage,
  shortMessage
} from './mux-messages.ts'
import { SaidError, saidOf } from '../../runtime/said-error.ts'

/** The maximum number of received but unread bytes per connection. */
const WINDOW_BYTES = 1_048_576
const PACKET_BYTES = 32_768
/** The maximum number of channels, several times what the nodes behind one host need. */
const CHANNELS_MAX = 10_000

/** The tunnel refused a connection. `reason` is a code of RFC 4254, 5.1. */
export class ChannelRefused extends Error {
  readonly code = 'SSH_REFUSED'
  readonly reason: number

  constructor(reason: number, text: string) {
    super(text)
    this.reason = reason
  }
}

/** TCP connections that an SSH server opens for us, multiplexed over the control socket of an OpenSSH client. */
export class SshStreams {
  readonly #socket: Duplex
  readonly #channels = new Map<number, Channel>()
  readonly #frames = new FrameReader()
  #nextId = 0
  #isReady = false
  #ready = Promise.withResolvers<void>()
  #ended: Error | null = null
  #drained: (() => void)[] = []

  constructor(socket: Duplex) {
    this.#socket = socket
    this.#ready.promise.catch(() => {})
    socket.on('data', (piece: Buffer) => this.#receive(piece))
    socket.on('drain', () => {
      const waiting = this.#drained
      this.#drained = []
      for (const go of waiting) go()
    })
    socket.on('error', (error) => this.close(error))
    socket.on('close', () => this.close(new SaidError(say('ssh.connection_ended'))))
    socket.write(greeting())
  }

  get ready(): Promise<void> {
    return this.#ready.promise
  }

  /** Rejects with ChannelRefused, with the reason of `signal`, or because the tunnel ended. */
  open(host: string, port: number, signal: AbortSignal): Promise<Duplex> {
    if (this.#ended !== null) return Promise.reject(this.#ended)
    if (this.#channels.size >= CHANNELS_MAX) {
      return Promise.reject(new ChannelRefused(4, `${CHANNELS_MAX} connections are open through it`))
    }
    while (this.#channels.has(this.#nextId)) this.#nextId = (this.#nextId + 1) % 2 ** 31
    const id = this.#nextId
    this.#nextId = (id + 1) % 2 ** 31
    const channel = new Channel({
      send: (bytes, sent) => this.#send(bytes, sent),
      gone: () => this.#channels.delete(id)
    })
    this.#channels.set(id, channel)
    this.#send(openMessage(id, { host, port }, { windowBytes: WINDOW_BYTES, packetBytes: PACKET_BYTES }))
    return channel.opened(signal)
  }

  /** Ends every connection with this error. Can be called twice. */
  close(error: Error): void {
    if (this.#ended !== null) return
    this.#ended = lost(error)
    this.#ready.reject(error)
    this.#socket.destroy()
    for (const channel of this.#channels.values()) channel.lose(this.#ended)
    this.#channels.clear()
    this.#drained = []
  }

  #send(bytes: Buffer, sent?: () => void): void {
    if (this.#ended !== null) return
    const goesOn = this.#socket.write(bytes)
    if (sent === undefined) return
    if (goesOn) sent()
    else this.#drained.push(sent)
  }

  #receive(piece: Buffer): void {
    const frames = this.#frames.read(piece)
    if (frames === null) return this.close(new SaidError(say('ssh.client_strange')))
    for (const frame of frames) {
      if (this.#ended !== null) return
      if (this.#isReady) this.#handle(readMessage(frame))
      else this.#greet(readGreeting(frame))
    }
  }

  #greet(answer: ReturnType<typeof readGreeting>): void {
    if (answer === 'other') return this.close(new SaidError(say('ssh.client_old')))
    if (answer === 'hello') return
    this.#isReady = true
    this.#ready.resolve()
  }

  #handle(message: ChannelMessage | null): void {
    if (message === null) return this.close(new SaidError(say('ssh.client_strange')))
    if (message.kind !== 'other') this.#channels.get(message.id)?.handle(message)
  }
}

function lost(cause: Error): Error {
  const said = saidOf(cause)
  return new SaidError(typeof said === 'string' ? plain(said) : said, { code: 'SSH_LOST', cause })
}

interface Wire {
  /** Calls `sent` when the channel can send more. */
  send(bytes: Buffer, sent?: () => void): void
  /** The server will not mention this channel again. */
  gone(): void
}

/**
 * One TCP connection: opening → open → closed, with SSH's flow control in both directions. The server assigns the
 * channel's number when it opens, so a channel that is abandoned earlier can be closed only after it opens.
 */
class Channel extends Duplex {
  readonly #wire: Wire
  readonly #opening = Promise.withResolvers<Channel>()
  #peerId: number | null = null
  #peerWindowBytes = 0
  #peerPacketBytes = 0
  #unacknowledgedBytes = 0
  #waiting: { bytes: Buffer; done: (error?: Error | null) => void } | null = null
  #closeSent = false
  #isLost = false

  constructor(wire: Wire) {
    // undici reads and ends this stream like a socket.
    super({ allowHalfOpen: false, readableHighWaterMark: 65_536, writableHighWaterMark: 65_536 })
    this.#wire = wire
    this.#opening.promise.catch(() => {})
    // Callers add their own error listeners, but not immediately.
    this.on('error', () => {})
  }

  async opened(signal: AbortSignal): Promise<Channel> {
    const giveUp = () => {
      this.#opening.reject(signal.reason)
      this.destroy()
    }
    if (signal.aborted) giveUp()
    else signal.addEventListener('abort', giveUp, { once: true })
    try {
      return await this.#opening.promise
    } finally {
      signal.removeEventListener('abort', giveUp)
    }
  }

  handle(message: Exclude<ChannelMessage, { kind: 'other' }>): void {
    switch (message.kind) {
      case 'confirm':
        if (this.#peerId !== null) return
        this.#peerId = message.peerId
        this.#peerWindowBytes = message.windowBytes
        this.#peerPacketBytes = Math.min(message.packetBytes, PACKET_BYTES)
        if (this.destroyed) this.#sendClose()
        else this.#opening.resolve(this)
        return
      case 'refuse':
        this.#isLost = true
        this.#wire.gone()
        this.#opening.reject(new ChannelRefused(message.reason, message.text))
        this.destroy()
        return
      case 'adjust':
        this.#peerWindowBytes = Math.min(this.#peerWindowBytes + message.bytes, 2 ** 32 - 1)
        this.#sendWaiting()
        return
      case 'data':
        this.#unacknowledgedBytes += message.bytes.length
        if (this.#unacknowledgedBytes > WINDOW_BYTES) {
          this.destroy(new Error('the SSH server sent more than it may'))
        } else if (this.destroyed || this.push(message.bytes)) this.#acknowledge()
        return
      case 'eof':
        if (!this.destroyed) this.push(null)
        return
      case 'close':
        this.#sendClose()
        this.#isLost = true
        this.#wire.gone()
        // The reader can still read the data received so far.
        if (!this.destroyed) this.push(null)
        this.#failWrites(Object.assign(new Error('the connection was closed'), { code: 'EPIPE' }))
        return
      case 'request':
        if (message.wantsReply && this.#peerId !== null) {
          this.#wire.send(shortMessage(MESSAGE.requestFailed, this.#peerId))
        }
    }
  }

  lose(error: Error): void {
    this.#isLost = true
    this.#opening.reject(error)
    this.destroy(error)
  }

  // undici calls these to keep the process alive while it uses a socket. Here, the tunnel's process does that.
  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  override _read(): void {
    this.#acknowledge()
  }

  override _write(bytes: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    if (this.#isLost) return done(Object.assign(new Error('the connection was closed'), { code: 'EPIPE' }))
    this.#waiting = { bytes, done }
    this.#sendWaiting()
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.#peerId !== null && !this.#isLost && !this.#closeSent) {
      this.#wire.send(shortMessage(MESSAGE.eof, this.#peerId))
    }
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (this.#peerId !== null && !this.#isLost) this.#sendClose()
    this.#failWrites(error ?? new Error('the connection was destroyed'))
    done(error)
  }

  #sendWaiting(): void {
    const waiting = this.#waiting
    if (waiting === null || this.#peerId === null || this.#closeSent) return
    const length = Math.min(waiting.bytes.length, this.#peerWindowBytes, this.#peerPacketBytes)
    if (length === 0) return
    this.#waiting = null
    this.#peerWindowBytes -= length
    const rest = waiting.bytes.subarray(length)
    this.#wire.send(dataMessage(this.#peerId, waiting.bytes.subarray(0, length)), () => {
      if (rest.length === 0) return waiting.done()
      if (this.destroyed || this.#isLost) return waiting.done(new Error('the connection was closed'))
      this.#waiting = { bytes: rest, done: waiting.done }
      this.#sendWaiting()
    })
  }

  #acknowledge(): void {
    if (this.#unacknowledgedBytes < WINDOW_BYTES / 2 || this.#peerId === null || this.#isLost) return
    this.#wire.send(adjustMessage(this.#peerId, this.#unacknowledgedBytes))
    this.#unacknowledgedBytes = 0
  }

  #sendClose(): void {
    if (this.#closeSent || this.#peerId === null) return
    this.#closeSent = true
    this.#wire.send(shortMessage(MESSAGE.close, this.#peerId))
  }

  #failWrites(error: Error): void {
    const waiting = this.#waiting
    this.#waiting = null
    waiting?.done(error)
  }
}
