import { expect, onTestFinished, test } from 'vitest'
import { ScrapdeckError } from '../../../shared/errors.ts'
import type { SharedBlobsState } from '../../storage/blobs/shared-blobs.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { blobProblems } from './engine-problems.ts'
import { type BlobsState, BlobWatch } from './blob-watch.ts'

const GB = 1_000_000_000
const WELL: SharedBlobsState = { problem: null, disk: { totalBytes: 100 * GB, freeBytes: 50 * GB } }
const REFUSED = new ScrapdeckError('BLOBS_UNUSABLE', 'The blobs in /share cannot be used: it is full. Free some space.')

function open({ isAlone = true }: { isAlone?: boolean } = {}) {
  const clock = createFakeClock()
  const world = { state: WELL, isHanging: false, apart: [] as { engine: string; place: string }[], checks: 0, told: 0 }
  const hanging = Promise.withResolvers<string | null>()
  const watch = new BlobWatch({
    blobs: {
      name: '/share',
      async check() {
        world.checks += 1
        return world.isHanging ? hanging.promise : null
      },
      state: () => world.state
    },
    engines: isAlone ? null : { name: 'north', listApart: async () => world.apart },
    clock,
    logger: silentLogger
  })
  watch.events.on('changed', () => {
    world.told += 1
  })
  onTestFinished(() => watch.stop())
  watch.start()
  const titles = () => blobProblems(watch.state()).map(({ title }) => title)
  return { clock, world, watch, titles, answer: () => hanging.resolve(null) }
}

test('a storage that fails is reported as a problem within seconds without a request, until it works again', async () => {
  const { clock, world, watch, titles } = open()
  await clock.advanceBy(60_000)
  expect([titles(), world.told]).toEqual([[], 0])
  world.state = { ...WELL, problem: REFUSED }
  const beganMs = clock.nowMs()
  await clock.advanceBy(5_000)
  const [problem] = blobProblems(watch.state())
  expect(problem).toMatchObject({
    id: 'blobs',
    severity: 'error',
    title: 'The storage of eggs and logs cannot be used'
  })
  expect(problem!.text).toContain('it is full. Free some space. Until it works again, uploads fail')
  expect(problem!.sinceMs).toBeGreaterThan(beganMs)
  await clock.advanceBy(60_000)
  expect([blobProblems(watch.state())[0]!.sinceMs, world.told]).toEqual([problem!.sinceMs, 1])
  world.state = WELL
  await clock.advanceBy(5_000)
  expect([titles(), world.told]).toEqual([[], 2])
})

test('a storage that hangs is a problem, too, and is called once until it responds', async () => {
  const { clock, world, titles, answer } = open()
  await clock.advanceBy(0)
  world.isHanging = true
  const before = world.checks
  await clock.advanceBy(60_000)
  expect([titles(), world.checks]).toEqual([['The storage of eggs and logs cannot be used'], before + 1])
  world.isHanging = false
  answer()
  await clock.advanceBy(10_000)
  expect(titles()).toEqual([])
})

test('a storage that is running full is a problem, and so are engines with another one', async () => {
  const { clock, world, watch, titles } = open({ isAlone: false })
  world.state = { problem: null, disk: { totalBytes: 100 * GB, freeBytes: 9 * GB } }
  await clock.advanceBy(5_000)
  expect([titles(), world.told]).toEqual([['The storage of eggs and logs is almost full'], 1])
  world.state = { problem: null, disk: { totalBytes: 100 * GB, freeBytes: GB / 2 } }
  world.apart = [{ engine: 'south', place: 's3://crawls/deck' }]
  await clock.advanceBy(30_000)
  const found = blobProblems(watch.state())
  expect(found.map(({ id, severity }) => [id, severity])).toEqual([
    ['blobs:disk', 'error'],
    ['blobs:apart', 'error']
  ])
  expect(found[0]!.text).toContain('0.5 GB of 100 GB is free at /share')
  expect(found[1]!.text).toContain('north: /share; south: s3://crawls/deck.')
})

test('a single engine with its files in the data directory needs no checks', async () => {
  const clock = createFakeClock()
  const watch = new BlobWatch({ blobs: null, engines: null, clock, logger: silentLogger })
  watch.start()
  const nothing: BlobsState = {
    name: 'the data directory',
    problem: null,
    sinceMs: null,
    disk: null,
    engine: null,
    apart: []
  }
  expect([watch.state(), blobProblems(nothing)]).toEqual([nothing, []])
})
