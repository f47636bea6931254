import { appendFile, copyFile, open, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { makeTemporaryDirectory } from '../../../testing/temporary-directory.ts'
import { cutBytes } from '../../../runtime/byte-window.ts'
import { FRAME_RAW_BYTES } from './frames.ts'
import { openLogFile, readBytes } from '../scan/log-file.ts'
import { Spool } from './spool.ts'

async function inDirectory(): Promise<string> {
  const temporary = await makeTemporaryDirectory({ inMemory: true })
  onTestFinished(temporary.remove)
  return temporary.path
}

/** Does not repeat, so that a wrong position is noticed. */
const log = Buffer.from(Array.from({ length: 200_000 }, (_, line) => `line ${line} of the log\n`).join(''))
const whole = { offset: 0, limitBytes: Number.MAX_SAFE_INTEGER }

test('a spool has every byte in order, however it was split, also after it is reopened', async () => {
  const directory = await inDirectory()
  const pieces = fc.array(fc.oneof(fc.nat(2_000), fc.constant(FRAME_RAW_BYTES), fc.nat(1_500_000)), { maxLength: 4 })
  let made = 0
  await fc.assert(
    fc.asyncProperty(
      pieces,
      fc.nat(4),
      fc.integer({ min: -5_000_000, max: 5_000_000 }),
      async (sizes, reopenAt, at) => {
        made += 1
        let spool = await Spool.open(directory, String(made))
        let expected = 0
        for (const [index, size] of sizes.entries()) {
          if (index === reopenAt) spool = await Spool.open(directory, String(made))
          expect(spool.sizeBytes).toBe(expected)
          const piece = log.subarray(expected, expected + size)
          await spool.append(piece)
          expected += piece.length
        }
        expect(spool.sizeBytes).toBe(expected)
        const wanted = { offset: at, limitBytes: 70_000 }
        const range = await spool.read(wanted)
        expect(Buffer.from(range.bytes).equals(cutBytes(log.subarray(0, expected), wanted).bytes)).toBe(true)
      }
    ),
    { numRuns: 25 }
  )
})

test('the unfinished write of a killed process is cut off, and everything before it is kept', async () => {
  const directory = await inDirectory()
  const spool = await Spool.open(directory, 'a')
  await spool.append(log.subarray(0, 2 * FRAME_RAW_BYTES + 100))
  const path = join(directory, 'a')
  const frames = await readFile(`${path}.frames`)

  // Simulates a crash in the middle of the third frame, while the rest of the log still existed.
  await appendFile(`${path}.frames`, frames.subarray(0, 5_000))
  expect((await Spool.open(directory, 'a')).sizeBytes).toBe(2 * FRAME_RAW_BYTES + 100)
  expect(await readFile(`${path}.frames`)).toEqual(frames)

  // Simulates a crash after a frame was written, but before it was removed from the rest.
  await copyFile(`${path}.rest`, join(directory, 'kept'))
  const again = await Spool.open(directory, 'a')
  await again.append(log.subarray(2 * FRAME_RAW_BYTES + 100, 3 * FRAME_RAW_BYTES))
  await copyFile(join(directory, 'kept'), `${path}.rest`)
  const third = await Spool.open(directory, 'a')
  expect(third.sizeBytes).toBe(3 * FRAME_RAW_BYTES)
  expect(Buffer.from((await third.read(whole)).bytes).equals(log.subarray(0, 3 * FRAME_RAW_BYTES))).toBe(true)

  // Simulates a power failure: the file has its full length, but the content of the last frame is lost.
  const three = await readFile(`${path}.frames`)
  await writeFile(`${path}.frames`, Buffer.concat([three.subarray(0, -100), Buffer.alloc(100)]))
  expect((await Spool.open(directory, 'a')).sizeBytes).toBe(2 * FRAME_RAW_BYTES)
})

test('half a header of the tail counts as nothing', async () => {
  const directory = await inDirectory()
  const spool = await Spool.open(directory, 'a')
  await spool.append(log.subarray(0, 100))
  await truncate(join(directory, 'a.rest'), 5)
  expect((await Spool.open(directory, 'a')).sizeBytes).toBe(0)
})

test('a write that the disk accepted only in part is completed', async () => {
  const spool = await Spool.open(await inDirectory(), 'a')
  await spool.append(log.subarray(0, 1_000))
  await using probe = await open(import.meta.filename)
  const handles = Object.getPrototypeOf(probe) as { write(...asked: unknown[]): Promise<unknown> }
  const { write } = handles
  vi.spyOn(handles, 'write').mockImplementation(function (this: unknown, ...[bytes, from, length, at]: unknown[]) {
    return write.call(this, bytes, from, Math.ceil((length as number) / 2), at)
  })
  await spool.append(log.subarray(1_000, 5_000))
  vi.restoreAllMocks()
  expect(Buffer.from((await spool.read(whole)).bytes).equals(log.subarray(0, 5_000))).toBe(true)
})

test('spools are listed by name until they are removed', async () => {
  const directory = await inDirectory()
  expect(await Spool.list(join(directory, 'none'))).toEqual([])
  const spools = await Promise.all(['b', 'a'].map((name) => Spool.open(directory, name)))
  await Promise.all(spools.map((spool) => spool.append(log.subarray(0, FRAME_RAW_BYTES + 10))))
  expect(await Spool.list(directory)).toEqual(['a', 'b'])
  await spools[0]!.clear()
  expect(await Spool.list(directory)).toEqual(['a'])
})

test('a read during the completion of a frame is refused, and never returns bytes of another place', async () => {
  const spool = await Spool.open(await inDirectory(), 'live')
  await spool.append(log.subarray(0, 500_000))
  const before = { kind: 'spool', ...spool.describe() } as const
  const read = async (file: Parameters<typeof openLogFile>[0]) => {
    const open = await openLogFile(file)
    try {
      return readBytes(open, 0, open.sizeBytes)
    } finally {
      open.close()
    }
  }
  await spool.append(log.subarray(500_000, 700_000))
  expect((await read(before)).equals(log.subarray(0, 500_000))).toBe(true)
  await spool.append(log.subarray(700_000, 2_000_000))
  await expect(read(before)).rejects.toMatchObject({ code: 'LOG_DAMAGED' })
  expect((await read({ kind: 'spool', ...spool.describe() })).equals(log.subarray(0, 2_000_000))).toBe(true)
})

test.skipIf(process.platform === 'win32')(
  'a thread continues to read a copy part by part even if its files are deleted meanwhile, with one descriptor each',
  async () => {
    const spool = await Spool.open(await inDirectory(), 'a')
    const bytes = log.subarray(0, FRAME_RAW_BYTES + 1_000)
    await spool.append(bytes)
    const open = await openLogFile({ kind: 'spool', ...spool.describe() })
    readBytes(open, 0, bytes.length)
    await spool.clear()
    for (let at = 0; at < bytes.length; at += 300_000)
      expect(readBytes(open, at, at + 300_000).equals(bytes.subarray(at, at + 300_000))).toBe(true)
    open.close()
  }
)
