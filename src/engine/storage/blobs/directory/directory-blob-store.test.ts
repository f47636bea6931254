import { chmod, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../runtime/clock.ts'
import { silentLogger } from '../../../runtime/logger.ts'
import { systemRandom } from '../../../runtime/random.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { makeTemporaryDirectory } from '../../../testing/temporary-directory.ts'
import { describeBlobStore } from '../testing/conformance.ts'
import { type DirectoryBlobsOptions, openDirectoryBlobs } from './open-directory-blobs.ts'

const HOUR_MS = 3_600_000
/** Permissions do not restrict root. */
const isRoot = process.geteuid?.() === 0

const openAt = (path: string, more: Partial<DirectoryBlobsOptions> = {}) =>
  openDirectoryBlobs({
    path,
    knownMark: null,
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    ...more
  })

describeBlobStore('blobs in a shared directory, as any blobs', async (directory) => {
  const open = async () => (await openAt(join(directory, 'share'))).store
  return { store: await open(), reopen: open }
})

describe('blobs in a shared directory', () => {
  let directory: string
  let path: string
  beforeEach(async () => {
    const temporary = await makeTemporaryDirectory()
    onTestFinished(temporary.remove)
    directory = temporary.path
    path = join(directory, 'share')
  })

  test('report at the start what an operator must correct, and create nothing above the directory', async () => {
    await writeFile(join(directory, 'file'), '')
    await mkdir(join(directory, 'data'))
    await writeFile(join(directory, 'data', 'engine.lock'), '')
    const cases: [string, RegExp][] = [
      [join(directory, 'mnt', 'share'), /mnt does not exist\. Mount or create it/],
      [join(directory, 'file'), /is not a directory/],
      [join(directory, 'file', 'share'), /is not a directory/],
      [join(directory, 'data'), /is a data directory, whose blobs are in .*data\/blobs\. Name that/],
      ['/proc', /cannot be used/]
    ]
    for (const [place, message] of cases)
      await expect(openAt(place)).rejects.toMatchObject({
        code: 'BLOBS_UNUSABLE',
        message: expect.stringMatching(message)
      })
    expect((await readdir(directory)).toSorted()).toEqual(['data', 'file'])
  })

  test.skipIf(isRoot || process.platform === 'win32')('report a directory that cannot be written to', async () => {
    await mkdir(path, { mode: 0o500 })
    await expect(openAt(path)).rejects.toMatchObject({
      code: 'BLOBS_UNUSABLE',
      message: expect.stringContaining('permission denied')
    })
    await chmod(path, 0o700)
  })

  test.skipIf(process.platform === 'win32')(
    'create files and folders for their owner only; the start leaves only marks',
    async () => {
      const { store } = await openAt(path)
      expect(await readdir(path, { recursive: true })).toEqual(['owner', join('owner', 'place')])
      await store.write('eggs/x', Buffer.from('x'))
      const modes = ['', 'eggs', 'eggs/x', 'owner', 'owner/place'].map(
        async (name) => (await stat(join(path, name))).mode & 0o077
      )
      expect(await Promise.all(modes)).toEqual([0, 0, 0, 0, 0])
    }
  )

  test('have one mark and one owner if engines start at the same moment', async () => {
    const engines = await Promise.all(Array.from({ length: 8 }, () => openAt(path)))
    expect(new Set(engines.map(({ mark }) => mark)).size).toBe(1)
    const owners = await Promise.all(engines.map(({ store }, index) => store.claim(`store ${index}`)))
    expect(new Set(owners).size).toBe(1)
    expect(await engines[0]!.store.claim('another')).toBe(owners[0])
    expect((await readdir(join(path, 'owner'))).toSorted()).toEqual(['place', 'store'])
  })

  test('keep what a peer is writing at a start, and delete leftovers of a killed one after the grace period', async () => {
    const peer = (await openAt(path)).store
    async function* slow() {
      yield Buffer.from('first half, ')
      const other = (await openAt(path)).store
      expect(await other.abortLeftUploads()).toBe(0)
      yield Buffer.from('second half')
    }
    await peer.write('logs/a.zst', Readable.from(slow()))
    expect(Buffer.from(await peer.read('logs/a.zst')).toString()).toBe('first half, second half')
    const left = join(path, 'logs', '.draft-dead')
    await writeFile(left, 'half')
    const old = new Date(Date.now() - 25 * HOUR_MS)
    expect(await peer.abortLeftUploads()).toBe(0)
    await utimes(left, old, old)
    expect(await peer.abortLeftUploads()).toBe(1)
    expect(await readdir(join(path, 'logs'))).toEqual(['a.zst'])
  })

  test('are deleted without references only after the grace period, by the clock of the file server', async () => {
    let ahead = 0
    const { store } = await openAt(path, { serverTimeMs: async () => Date.now() + ahead })
    await store.write('eggs/x', Buffer.from('x'))
    expect(await store.deleteUnused('eggs/x')).toBe(false)
    ahead = 23 * HOUR_MS
    expect(await store.deleteUnused('eggs/x')).toBe(false)
    ahead = 25 * HOUR_MS
    expect([await store.deleteUnused('eggs/x'), await store.has('eggs/x')]).toEqual([true, false])
    const other = (await openAt(path, { graceMs: 30 })).store
    await other.write('eggs/y', Buffer.from('y'))
    expect(await other.deleteUnused('eggs/y')).toBe(false)
    await expect.poll(() => other.deleteUnused('eggs/y')).toBe(true)
    expect(await readdir(join(path, 'eggs'))).toEqual([])
  })

  test('keep an egg that a peer writes again while it is deleted', async () => {
    const peer = (await openAt(path)).store
    const egg = Buffer.from('an egg')
    await peer.write('eggs/x', egg)
    const { store } = await openAt(path, {
      async serverTimeMs() {
        await peer.write('eggs/x', egg)
        return Date.now() + 25 * HOUR_MS
      }
    })
    expect(await store.deleteUnused('eggs/x')).toBe(false)
    expect(Buffer.from(await store.read('eggs/x'))).toEqual(egg)
    expect(await readdir(join(path, 'eggs'))).toEqual(['x'])
  })

  test('are reported if the share was unmounted, which is not mistaken for an empty one, and nothing is written in its place', async () => {
    const clock = createFakeClock()
    const { store, check, state } = await openAt(path, { clock })
    await store.write('eggs/x', Buffer.from('x'))
    const away = join(directory, 'away')
    await rename(path, away)
    await mkdir(path)
    const told = { code: 'BLOBS_UNUSABLE', message: expect.stringContaining('Mount it again') }
    await expect(store.read('eggs/x')).rejects.toMatchObject(told)
    await expect(store.has('eggs/x')).rejects.toMatchObject(told)
    await expect(store.list('eggs/')).rejects.toMatchObject(told)
    await expect(store.deleteUnused('eggs/x')).rejects.toMatchObject(told)
    await expect(store.write('eggs/y', Buffer.from('y'))).rejects.toMatchObject(told)
    expect(await readdir(path)).toEqual([])
    expect([await check(), state().problem]).toEqual([
      'The blob storage (shared directory) is not mounted',
      expect.objectContaining(told)
    ])
    await rm(path, { recursive: true })
    expect(await check()).toContain('not mounted')
    await rename(away, path)
    expect([await check(), state().problem]).toEqual([null, null])
    expect(await store.has('eggs/x')).toBe(true)
  })

  test('refuse another directory at the same path at the start, and find the marked one wherever it is', async () => {
    const { mark, store } = await openAt(path)
    await store.write('eggs/x', Buffer.from('x'))
    const elsewhere = join(directory, 'elsewhere')
    await rename(path, elsewhere)
    await expect(openAt(path, { knownMark: mark })).rejects.toMatchObject({
      message: expect.stringMatching(/does not exist. Mount/)
    })
    await mkdir(path)
    await expect(openAt(path, { knownMark: mark })).rejects.toMatchObject({
      code: 'BLOBS_UNUSABLE',
      message: expect.stringMatching(`write ${mark} into its file owner/place`)
    })
    expect(await readdir(path)).toEqual([])
    expect((await openAt(elsewhere)).mark).toBe(mark)
    await mkdir(join(path, 'owner'))
    await writeFile(join(path, 'owner', 'place'), `${mark}\n`)
    expect((await openAt(path, { knownMark: mark })).mark).toBe(mark)
  })

  test('are checked every half minute, more often while something is wrong, and report the free space', async () => {
    const clock = createFakeClock()
    const { check, state, mark } = await openAt(path, { clock })
    expect(state().disk).toMatchObject({ totalBytes: expect.any(Number), freeBytes: expect.any(Number) })
    await rm(join(path, 'owner'), { recursive: true })
    expect(await check()).toBeNull()
    await clock.advanceBy(30_000)
    expect(await check()).toContain('not mounted')
    await mkdir(join(path, 'owner'))
    await writeFile(join(path, 'owner', 'place'), mark)
    expect(await check()).toBeNull()
    expect(await readFile(join(path, 'owner', 'place'), 'utf8')).toBe(mark)
    expect(await readdir(join(path, 'owner'))).toEqual(['place'])
  })

  test('explain errors of the system with what to do, and pass on other errors', async () => {
    const { store, state } = await openAt(path)
    async function* full() {
      yield Buffer.from('x')
      throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' })
    }
    await expect(store.write('logs/a.zst', Readable.from(full()))).rejects.toMatchObject({
      code: 'BLOBS_UNUSABLE',
      data: { problem: 'ENOSPC' },
      message: expect.stringContaining('is full')
    })
    expect(state().problem).toMatchObject({ data: { problem: 'ENOSPC' } })
    await expect(store.read('logs/none')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})
