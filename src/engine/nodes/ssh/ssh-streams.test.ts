import { Duplex, PassThrough } from 'node:stream'
import { once } from 'node:events'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SshStreams } from './ssh-streams.ts'
import { adjustMessage, dataMessage, FrameReader, MESSAGE, readMessage, shortMessage } from './mux-messages.ts'

const never = new AbortController().signal
const u32 = (...values: number[]) =>
  Buffer.concat(values.map((value) => ((b) => (b.writeUInt32BE(value), b))(Buffer.alloc(4))))
const framed = (bytes: Buffer) => Buffer.concat([u32(bytes.length), bytes])
const confirm = (id: number, peerId: number, windowBytes: number) =>
  framed(Buffer.concat([Buffer.from([0, MESSAGE.confirm]), u32(id, peerId, windowBytes, 32_768)]))

async function aMaster() {
  const [toMaster, toEngine] = [new PassThrough(), new PassThrough()]
  const socket = Duplex.from({ readable: toEngine, writable: toMaster })
  const channels = new SshStreams(socket)
  const sent: NonNullable<ReturnType<typeof readMessage>>[] = []
  const frames = new FrameReader()
  toMaster.on('data', (piece: Buffer) => {
    for (const frame of frames.read(piece)!) if (frame[1] !== 0) sent.push(readMessage(frame)!)
  })
  const settle = async () => {
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  }
  const answer = async (...bytes: Buffer[]) => {
    toEngine.write(Buffer.concat(bytes))
    await settle()
  }
  await answer(framed(u32(1, 4)), framed(u32(0x8000_000f, 0)))
  await channels.ready
  return { channels, sent, answer, socket, settle }
}

async function anOpenChannel(windowBytes = 100_000) {
  const master = await aMaster()
  const opening = master.channels.open('10.0.0.5', 6800, never)
  await master.settle()
  await master.answer(confirm(0, 77, windowBytes))
  const channel = await opening
  channel.on('error', () => {})
  return { ...master, channel }
}

test('bytes pass both ways, in order, however they are split, and never more than the server allows', async () => {
  const cuts = fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 1, maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(cuts, fc.integer({ min: 1, max: 3_000 }), async (sizes, windowBytes) => {
      const { channel, answer, sent, settle } = await anOpenChannel(windowBytes)
      const whole = Buffer.from(Array.from({ length: sizes.reduce((sum, size) => sum + size, 0) }, (_, at) => at % 251))
      let at = 0
      for (const size of sizes) channel.write(whole.subarray(at, (at += size)))
      const arrived = () => Buffer.concat(sent.flatMap((message) => (message.kind === 'data' ? [message.bytes] : [])))
      await settle()
      for (let allowed = windowBytes; ; allowed += 4_000) {
        expect(arrived().length).toBeLessThanOrEqual(allowed)
        if (arrived().length === whole.length) break
        await answer(adjustMessage(0, 4_000))
      }
      expect(arrived().equals(whole)).toBe(true)
      const read: Buffer[] = []
      channel.on('data', (piece) => read.push(piece))
      at = 0
      for (const size of sizes) await answer(dataMessage(0, whole.subarray(at, (at += size))))
      expect(Buffer.concat(read).equals(whole)).toBe(true)
      channel.destroy()
    }),
    { numRuns: 25 }
  )
})

test('a peer that does not read gets no more than a window', async () => {
  const { channel, answer, sent } = await anOpenChannel()
  const adjusts = () => sent.filter(({ kind }) => kind === 'adjust').length
  for (let count = 0; count < 32; count += 1) await answer(dataMessage(0, Buffer.alloc(32_768)))
  expect(adjusts()).toBe(0)
  channel.resume()
  await answer()
  expect(adjusts()).toBeGreaterThan(0)
  const closed = new Promise((resolve) => channel.once('close', resolve))
  channel.pause()
  for (let count = 0; count < 40; count += 1) await answer(dataMessage(0, Buffer.alloc(32_768)))
  await closed
  expect(sent.at(-1)).toMatchObject({ kind: 'close', id: 77 })
})

test('the end of the other side ends a stream after all earlier bytes', async () => {
  const { channel, answer, sent } = await anOpenChannel()
  const read: Buffer[] = []
  channel.on('data', (piece) => read.push(piece))
  await answer(dataMessage(0, Buffer.from('last')), shortMessage(MESSAGE.eof, 0), shortMessage(MESSAGE.close, 0))
  expect(Buffer.concat(read).toString()).toBe('last')
  expect(channel.destroyed).toBe(true)
  expect(sent.filter(({ kind }) => kind === 'close').length).toBe(1)
})

test('a stream that is given up while it opens is closed once it is open', async () => {
  const { channels, answer, sent, settle } = await aMaster()
  const late = new AbortController()
  const opening = expect(channels.open('10.0.0.5', 6800, late.signal)).rejects.toThrow('late')
  await settle()
  late.abort(new Error('late'))
  await opening
  await answer(confirm(0, 77, 1_000))
  expect(sent.at(-1)).toMatchObject({ kind: 'close', id: 77 })
  await answer(shortMessage(MESSAGE.close, 0))
})

test('a refusal is reported with its reason', async () => {
  const { channels, answer, settle } = await aMaster()
  const opening = channels.open('10.0.0.5', 6800, never)
  const refused = expect(opening).rejects.toMatchObject({
    code: 'SSH_REFUSED',
    reason: 2,
    message: 'Connection refused'
  })
  await settle()
  const text = Buffer.from('Connection refused')
  const body = [Buffer.from([0, MESSAGE.refuse]), u32(0, 2, text.length), text, u32(0)]
  await answer(framed(Buffer.concat(body)))
  await refused
})

test('the end of the tunnel ends all streams, open and opening', async () => {
  const { channels, channel, socket, settle } = await anOpenChannel()
  const failed = once(channel, 'error')
  const opening = expect(channels.open('x', 1, never)).rejects.toMatchObject({ code: 'SSH_LOST' })
  await settle()
  socket.destroy()
  await opening
  expect((await failed)[0]).toMatchObject({ code: 'SSH_LOST' })
  await expect(channels.open('x', 1, never)).rejects.toMatchObject({ code: 'SSH_LOST' })
})

test('no input causes an exception, and an endless frame is not kept', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 8 }), async (pieces) => {
      const { channel, answer } = await anOpenChannel()
      for (const piece of pieces) {
        await answer(framed(Buffer.from([0, ...piece])))
        await answer(framed(Buffer.from([0, 90 + ((piece[0] ?? 0) % 11), 0, 0, 0, 0, ...piece])))
      }
      channel.destroy()
    }),
    { numRuns: 50 }
  )
  const { channels, answer } = await aMaster()
  await answer(u32(0xffff_ffff))
  await expect(channels.open('x', 1, never)).rejects.toMatchObject({ code: 'SSH_LOST' })
})

test('an OpenSSH that cannot share its connection is reported as too old', async () => {
  const toEngine = new PassThrough()
  const channels = new SshStreams(Duplex.from({ readable: toEngine, writable: new PassThrough() }))
  toEngine.write(Buffer.concat([framed(u32(1, 4)), framed(u32(0x8000_0003, 0, 0))]))
  await expect(channels.ready).rejects.toThrow('before 7.4')
})
