import { createSocket } from 'node:dgram'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { readFileSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import type { AuditEntry } from '../../../shared/contract/index.ts'
import { silentLogger } from '../../runtime/logger.ts'
import type { SyslogAddress } from '../../runtime/syslog-address.ts'
import { hashOf, inOrder } from '../../storage/audit/chain.ts'
import { makeCertificate } from '../../testing/make-certificate.ts'
import { anAuditRecord } from '../../storage/testing/audit.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { openTemporaryStore } from '../../testing/temporary-store.ts'
import { advanceUntil } from '../../testing/until.ts'
import { auditProblems } from '../../monitoring/health/engine-problems.ts'
import { SyslogStream } from './syslog.ts'
import { formatSyslog } from './syslog-connection.ts'

class Receiver {
  readonly messages: string[] = []
  readonly sockets = new Set<Socket>()
  server: Server

  constructor(create: (onSocket: (socket: Socket) => void) => Server = (onSocket) => createServer(onSocket)) {
    this.server = create((socket) => {
      let text = ''
      this.sockets.add(socket)
      socket
        .on('error', () => {})
        .on('data', (bytes) => {
          text += String(bytes)
          for (let match = /^(\d+) /.exec(text); match !== null; match = /^(\d+) /.exec(text)) {
            const end = match[0].length + Number(match[1])
            if (text.length < end) return
            this.messages.push(text.slice(match[0].length, end))
            text = text.slice(end)
          }
        })
    })
  }

  async listen(port = 0): Promise<number> {
    await new Promise<void>((resolve) => this.server.listen(port, '127.0.0.1', resolve))
    return (this.server.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    await new Promise((resolve) => this.server.close(resolve))
  }

  get seqs(): number[] {
    return this.messages.map((message) => entryIn(message).seq)
  }
}

const entryIn = (message: string) => JSON.parse(message.slice(message.indexOf(' - {') + 3)) as AuditEntry

async function open(address: Pick<SyslogAddress, 'transport' | 'port'> & Partial<SyslogAddress>) {
  const clock = createFakeClock()
  const temporary = await openTemporaryStore()
  onTestFinished(() => temporary.remove())
  const { store } = temporary
  const whole = { host: '127.0.0.1', caFile: null, ...address }
  const begin = () => {
    const stream = new SyslogStream({ store, clock, logger: silentLogger, address: whole, hostName: 'deck-1' })
    stream.start()
    return stream
  }
  let stream = begin()
  onTestFinished(() => stream.stop())
  return {
    store,
    until: (isTrue: () => boolean | Promise<boolean>) => advanceUntil(clock, async () => isTrue()),
    async append(operation: string) {
      await store.appendAudit(anAuditRecord({ operation }))
      stream.wake()
    },
    async restart() {
      await stream.stop()
      stream = begin()
    },
    settledSeq: () => store.getSetting('audit.syslogSeq'),
    problems: () => auditProblems(stream.away())
  }
}

it('sends each entry once, in order, with the previous hash, and continues after a restart', async () => {
  const receiver = new Receiver()
  const port = await receiver.listen()
  onTestFinished(() => receiver.close())
  const { append, until, restart, settledSeq } = await open({ transport: 'tcp', port })
  for (const operation of ['nodes.add', 'jobs.run']) await append(operation)
  await until(() => receiver.messages.length === 2)
  await append('jobs.cancel')
  await until(async () => (await settledSeq()) === 3)
  await restart()
  await append('login')
  await until(() => receiver.messages.length === 4)
  expect(receiver.seqs).toEqual([1, 2, 3, 4])
  for (const message of receiver.messages) {
    const { previousHash, hash, ...record } = entryIn(message)
    expect(hashOf(previousHash, inOrder(record))).toBe(hash)
  }
  expect(receiver.messages[0]).toMatch(/^<110>1 1970-01-01T00:00:01\.000Z deck-1 scrapdeck - nodes\.add - \{"seq":1,/)
})

it('loses nothing while the server is away, and sends again what a broken connection may have lost', async () => {
  const first = new Receiver()
  const port = await first.listen()
  const { append, until, problems } = await open({ transport: 'tcp', port })
  await append('a')
  await until(() => first.messages.length === 1)
  expect(problems()).toEqual([])
  await first.close()
  await append('b')
  await append('c')
  await until(() => problems().length > 0)
  expect(problems()).toMatchObject([
    { severity: 'warning', text: expect.stringContaining(`tcp://127.0.0.1:${port}: `) }
  ])
  const second = new Receiver()
  await second.listen(port)
  onTestFinished(() => second.close())
  await until(() => second.messages.length === 3)
  expect(second.seqs).toEqual([1, 2, 3])
  await until(() => problems().length === 0)
})

it('sends more than fits into one batch', async () => {
  const receiver = new Receiver()
  const port = await receiver.listen()
  onTestFinished(() => receiver.close())
  const { store, append, until } = await open({ transport: 'tcp', port })
  await Promise.all(Array.from({ length: 450 }, () => store.appendAudit(anAuditRecord())))
  await append('last')
  await until(() => receiver.messages.length === 451)
  expect(receiver.seqs).toEqual(Array.from({ length: 451 }, (_, index) => index + 1))
})

it('uses TLS only with a server that the configured CA has signed', async () => {
  const certificate = makeCertificate('localhost')
  let refused = 0
  const options = { cert: certificate.pem, key: readFileSync(certificate.key) }
  const receiver = new Receiver((onSocket) =>
    createTlsServer(options, onSocket).on('tlsClientError', () => {
      refused += 1
    })
  )
  const port = await receiver.listen()
  onTestFinished(() => receiver.close())
  const stranger = await open({ transport: 'tls', port, host: 'localhost' })
  await stranger.append('a')
  await stranger.until(() => refused > 0)
  const known = await open({ transport: 'tls', port, host: 'localhost', caFile: certificate.certificate })
  await known.append('b')
  await known.until(() => receiver.messages.length === 1)
  expect(entryIn(receiver.messages[0]!).operation).toBe('b')
})

it('sends datagrams over UDP', async () => {
  const socket = createSocket('udp4')
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  onTestFinished(() => void socket.close())
  const messages: string[] = []
  socket.on('message', (bytes) => messages.push(String(bytes)))
  const { append, until } = await open({ transport: 'udp', port: socket.address().port })
  await append('a')
  await append('b')
  await until(() => messages.length === 2)
  expect(messages.map((message) => entryIn(message).operation)).toEqual(['a', 'b'])
})

it('writes ASCII only, and nothing in a name can start another message or field', () => {
  const entry = {
    ...anAuditRecord({ operation: 'käse\n<1>1 x', atMs: 0 }),
    seq: 1,
    changes: [],
    previousHash: '',
    hash: ''
  }
  const message = formatSyslog({ ...entry, who: { ...entry.who, name: 'ann\u00e4\ud83d\ude00' } }, 'a host')
  expect(message).toMatch(/^<110>1 1970-01-01T00:00:00\.000Z a_host scrapdeck - k_se_<1>1_x - \{[ -~]+\}$/)
  expect(entryIn(message).who.name).toBe('ann\u00e4\ud83d\ude00')
})
