import { existsSync } from 'node:fs'
import { readdir, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HealthWatch } from './health-watch.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.ts'
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../testing/temporary-directory.ts'

const WELL = { live: true, ready: true, reasons: [] }

let directory: TemporaryDirectory
let clock: FakeClock
let state: { isStoreDead: boolean; isStopping: boolean; isDatabaseAway: boolean }
beforeEach(async () => {
  directory = await makeTemporaryDirectory()
  clock = createFakeClock()
  state = { isStoreDead: false, isStopping: false, isDatabaseAway: false }
})
afterEach(() => directory.remove())

const open = (write?: (path: string) => Promise<void>, checkBlobs?: () => Promise<string | null>) =>
  new HealthWatch({
    dataDirectory: directory.path,
    isStoreDead: () => state.isStoreDead,
    isStopping: () => state.isStopping,
    store: { changeCursor: async () => (state.isDatabaseAway ? Promise.reject(new Error('away')) : 1) },
    clock,
    logger: silentLogger,
    ...(write === undefined ? {} : { write }),
    ...(checkBlobs === undefined ? {} : { checkBlobs })
  })

describe('health', () => {
  it('is good if the disk accepts a write, which leaves no file behind', async () => {
    const health = open()
    expect([health.now(), await health.check()]).toEqual([WELL, WELL])
    expect(await readdir(directory.path)).toEqual([])
  })

  it('reports blobs that cannot be used or do not respond, and stays ready', async () => {
    let answer: Promise<string | null> = Promise.resolve('The blobs refuse')
    const health = open(
      async () => {},
      () => answer
    )
    expect(await health.check()).toEqual({ ...WELL, reasons: ['The blobs refuse'] })
    answer = new Promise(() => {})
    await clock.advanceBy(5_000)
    const late = health.check()
    await clock.advanceBy(2_000)
    expect(await late).toEqual({ ...WELL, reasons: ['The blob storage does not respond'] })
  })

  it('is not ready while the database does not respond', async () => {
    const health = open()
    state.isDatabaseAway = true
    const away = { live: true, ready: false, reasons: ['The database does not respond'] }
    expect(await health.check()).toEqual(away)
    state.isDatabaseAway = false
    await clock.advanceBy(5_000)
    expect(await health.check()).toEqual(WELL)
  })

  it.each([
    ['ENOSPC', 'full: free some space'],
    ['EDQUOT', 'full: free some space'],
    ['EROFS', 'cannot be written: give the user'],
    ['EACCES', 'cannot be written: give the user'],
    ['EIO', 'cannot be written (EIO): check its disk']
  ])('describes a disk that says %s without its path, also to callers that do not wait', async (code, words) => {
    const health = open(() => Promise.reject(Object.assign(new Error(`${code}: ${directory.path}`), { code })))
    const told = await health.check()
    expect(told).toEqual({ live: true, ready: false, reasons: [expect.stringContaining(words)] })
    expect(told.reasons.join()).not.toContain(directory.path)
    expect(health.now()).toEqual(told)
  })

  it.runIf(existsSync('/dev/full'))('notices that a real disk is full, and that it has space again', async () => {
    const health = open()
    // The probe is written to a device that is always full.
    await symlink('/dev/full', join(directory.path, 'health-probe'))
    expect((await health.check()).reasons).toEqual([expect.stringContaining('is full')])
    await clock.advanceBy(5_000)
    expect(await health.check()).toEqual(WELL)
  })

  it('notices that the data directory is gone', async () => {
    const health = open()
    await rm(directory.path, { recursive: true })
    expect((await health.check()).reasons).toEqual(['The data directory no longer exists'])
  })

  it('checks the disk at most every five seconds, however many clients ask', async () => {
    let writes = 0
    const health = open(async () => {
      writes += 1
    })
    await Promise.all(Array.from({ length: 100 }, () => health.check()))
    await clock.advanceBy(4_999)
    await health.check()
    expect(writes).toBe(1)
    await clock.advanceBy(1)
    await health.check()
    expect(writes).toBe(2)
  })

  it('waits two seconds for a hanging disk, and does not use it again until it responds', async () => {
    const hanging = Promise.withResolvers<void>()
    let writes = 0
    const health = open(() => {
      writes += 1
      return hanging.promise
    })
    for (const _time of [1, 2, 3]) {
      const check = health.check()
      expect(health.now().live).toBe(true)
      await clock.advanceBy(2_000)
      expect((await check).reasons).toEqual(['The disk of the data directory or the database does not respond'])
      await clock.advanceBy(5_000)
    }
    expect(writes).toBe(1)
    hanging.resolve()
    expect(await health.check()).toEqual(WELL)
  })

  it('is not live with a dead database, and not ready while stopping', async () => {
    const health = open()
    state.isStopping = true
    expect(await health.check()).toEqual({ live: true, ready: false, reasons: ['Scrapdeck is stopping'] })
    state.isStoreDead = true
    expect(health.now()).toMatchObject({ live: false, ready: false })
  })
})
