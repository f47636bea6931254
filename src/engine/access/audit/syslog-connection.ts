import { createSocket } from 'node:dgram'
import { readFile } from 'node:fs/promises'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Clock } from '../../runtime/clock.ts'
import type { SyslogAddress } from '../../runtime/syslog-address.ts'
import type { AuditEntry } from '../../../shared/contract/index.ts'

const TIMEOUT_MS = 10_000
const KEEP_ALIVE_MS = 30_000

export interface SyslogConnection {
  /** Resolves when the network has accepted everything. Rejects if the connection is broken. */
  send(messages: readonly string[]): Promise<void>
  readonly isOpen: boolean
  close(): void
}

export function openSyslog(address: SyslogAddress, clock: Clock): Promise<SyslogConnection> {
  return address.transport === 'udp' ? openUdp(address) : openStream(address, clock)
}

async function openUdp({ host, port }: SyslogAddress): Promise<SyslogConnection> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
  let isOpen = true
  const close = () => {
    if (isOpen) socket.close()
    isOpen = false
  }
  // A datagram can fail after the send has finished, when no caller can handle the error.
  socket.on('error', close).unref()
  const sendOne = (message: string) =>
    new Promise<void>((resolve, reject) => {
      socket.send(message, port, host, (error) => (error === null ? resolve() : reject(error)))
    })
  return {
    async send(messages) {
      if (!isOpen) throw new Error('The socket is closed')
      for (const message of messages) await sendOne(message)
    },
    get isOpen() {
      return isOpen
    },
    close
  }
}

async function openStream({ transport, host, port, caFile }: SyslogAddress, clock: Clock): Promise<SyslogConnection> {
  const ca = caFile === null ? undefined : await readFile(caFile)
  const socket: Socket =
    transport === 'tcp'
      ? connectTcp({ host, port })
      : connectTls({ host, port, ...(ca && { ca }), ...(!isAddress(host) && { servername: host }) })
  let failure: Error | null = null
  const fail = (error: Error) => {
    failure ??= error
    socket.destroy()
  }
  socket.on('error', fail).on('close', () => fail(new Error('The server closed the connection')))
  // The server sends no data, but the socket must be read to detect that the server closed the connection.
  socket.on('end', () => fail(new Error('The server closed the connection'))).resume()
  socket.setKeepAlive(true, KEEP_ALIVE_MS).unref()
  const within = async <T>(what: string, done: Promise<T>): Promise<T> => {
    const timer = clock.setTimer(TIMEOUT_MS, () => fail(new Error(`${what} took longer than ${TIMEOUT_MS / 1_000} s`)))
    try {
      return await done
    } finally {
      timer.cancel()
    }
  }
  const closed = new Promise<never>((_resolve, reject) => socket.once('close', () => reject(failure)))
  closed.catch(() => {})
  const connected = new Promise<void>((resolve) => {
    socket.once(transport === 'tcp' ? 'connect' : 'secureConnect', () => resolve())
  })
  await within('Connecting', Promise.race([connected, closed]))
  return {
    async send(messages) {
      if (failure !== null) throw failure
      const written = new Promise<void>((resolve, reject) => {
        socket.write(messages.map(frame).join(''), (error) => (error == null ? resolve() : reject(error)))
      })
      await within('Sending', Promise.race([written, closed]))
    },
    get isOpen() {
      return failure === null
    },
    close: () => fail(new Error('It was closed here'))
  }
}

const isAddress = (host: string): boolean => /^[\d.]+$|:/.test(host)

/** RFC 5424, 6.2.1: "log audit". */
const FACILITY = 13
const SEVERITY = { done: 6, refused: 4, failed: 5 } as const
const HOST_MAX = 255
const MESSAGE_ID_MAX = 32

/**
 * Formats an entry as an RFC 5424 message: `<110>1 2026-01-02T03:04:05.678Z host scrapdeck - nodes.update - {…}`.
 * The entry is ASCII JSON, so it needs no byte order mark and receivers need not guess its encoding.
 */
export function formatSyslog(entry: AuditEntry, host: string): string {
  const priority = FACILITY * 8 + SEVERITY[entry.result]
  const time = new Date(entry.atMs).toISOString()
  return `<${priority}>1 ${time} ${plain(host, HOST_MAX)} scrapdeck - ${plain(entry.operation, MESSAGE_ID_MAX)} - ${inAscii(entry)}`
}

/** Prepends the message's length in bytes (RFC 6587, 3.4.1, and RFC 5425). */
const frame = (message: string): string => `${message.length} ${message}`

/** Keeps only PRINTUSASCII (RFC 5424), so that a name cannot start another field. */
const plain = (text: string, maxLength: number): string => text.replaceAll(/[^!-~]/g, '_').slice(0, maxLength) || '-'

const inAscii = (entry: AuditEntry): string =>
  JSON.stringify(entry).replaceAll(
    /[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  )
