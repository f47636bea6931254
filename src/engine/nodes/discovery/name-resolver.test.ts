import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../../runtime/clock.ts'
import { createNameResolver } from './name-resolver.ts'

const TYPES = { A: 1, AAAA: 28, SRV: 33 }

/** The responses of a name server by question. `null`: it does not respond. */
type Zone = Record<string, { code?: number; records?: { type: keyof typeof TYPES; data: Buffer }[] } | null>

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function startNameServer(zone: Zone): Promise<string> {
  const socket = createSocket('udp4')
  socket.on('message', (question, { port, address }) => {
    const answer = answerTo(question, zone)
    if (answer !== null) socket.send(answer, port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  closers.push(() => new Promise((resolve) => socket.close(() => resolve(null))))
  return `127.0.0.1:${socket.address().port}`
}

/** RFC 1035, 4.1: a header of twelve bytes, the question as received, and the answers. */
function answerTo(question: Buffer, zone: Zone): Buffer | null {
  const labels: string[] = []
  let at = 12
  for (; question[at] !== 0; at += question[at]! + 1) {
    labels.push(question.toString('latin1', at + 1, at + 1 + question[at]!))
  }
  const questionEnd = at + 5
  const type = question.readUInt16BE(at + 1)
  const found = zone[labels.join('.').toLowerCase()]
  if (found === null) return null
  const records = (found?.records ?? []).filter((record) => TYPES[record.type] === type)
  const header = Buffer.alloc(12)
  question.copy(header, 0, 0, 2)
  header.writeUInt16BE(0x8180 | (found === undefined ? 3 : (found.code ?? 0)), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(records.length, 6)
  const answers = records.map(({ data }) => {
    const head = Buffer.alloc(12)
    head.writeUInt16BE(0xc00c, 0)
    head.writeUInt16BE(type, 2)
    head.writeUInt16BE(1, 4)
    head.writeUInt32BE(5, 6)
    head.writeUInt16BE(data.length, 10)
    return Buffer.concat([head, data])
  })
  return Buffer.concat([header, question.subarray(12, questionEnd), ...answers])
}

function serviceData(port: number, name: string): Buffer {
  const numbers = Buffer.alloc(6)
  numbers.writeUInt16BE(port, 4)
  const labels = name.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label)]))
  return Buffer.concat([numbers, ...labels, Buffer.of(0)])
}

test('asks a name server for addresses of both kinds and for services', async () => {
  const server = await startNameServer({
    'scrapyd.svc': {
      records: [
        { type: 'A', data: Buffer.of(10, 0, 0, 5) },
        { type: 'A', data: Buffer.of(10, 0, 0, 6) },
        { type: 'AAAA', data: Buffer.concat([Buffer.of(0xfd), Buffer.alloc(14), Buffer.of(5)]) },
        { type: 'SRV', data: serviceData(6801, 'scrapyd-0.scrapyd.svc') }
      ]
    }
  })
  const resolver = createNameResolver({ clock: systemClock, servers: [server] })
  expect((await resolver.addresses('scrapyd.svc', 'A')).sort()).toEqual(['10.0.0.5', '10.0.0.6'])
  expect(await resolver.addresses('scrapyd.svc', 'AAAA')).toEqual(['fd00::5'])
  expect(await resolver.services('scrapyd.svc')).toMatchObject([{ name: 'scrapyd-0.scrapyd.svc', port: 6801 }])
})

test('distinguishes an invalid name, one without records and a server that fails', async () => {
  const server = await startNameServer({ 'empty.svc': {}, 'broken.svc': { code: 2 } })
  const resolver = createNameResolver({ clock: systemClock, servers: [server] })
  await expect(resolver.addresses('gone.svc', 'A')).rejects.toMatchObject({ code: 'ENOTFOUND' })
  await expect(resolver.addresses('empty.svc', 'A')).rejects.toMatchObject({ code: 'ENODATA' })
  await expect(resolver.addresses('broken.svc', 'A')).rejects.toMatchObject({ code: 'ESERVFAIL' })
})

test('gives up a name server that does not respond in time, while another query continues', async () => {
  const server = await startNameServer({
    'silent.svc': null,
    'scrapyd.svc': { records: [{ type: 'A', data: Buffer.of(10, 0, 0, 5) }] }
  })
  const resolver = createNameResolver({ clock: systemClock, servers: [server], timeLimitMs: 300 })
  const silent = resolver.addresses('silent.svc', 'A')
  expect(await resolver.addresses('scrapyd.svc', 'A')).toEqual(['10.0.0.5'])
  await expect(silent).rejects.toMatchObject({ code: expect.stringMatching(/^(ECANCELLED|ETIMEOUT)$/) })
})
