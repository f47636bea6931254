import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { silentLogger } from '../../engine/runtime/logger.ts'
import { createFakeClock } from '../../engine/testing/fake-clock.ts'
import { makeTestDirectory } from '../../engine/testing/test-directory.ts'
import { LastAnswers } from './last-answers.ts'

const sent = (answer: unknown): Uint8Array => Buffer.from(JSON.stringify({ json: answer }))

function open(directory = join(makeTestDirectory(), 'state')) {
  const clock = createFakeClock()
  const kept = new LastAnswers(directory, { clock, logger: silentLogger })
  return { directory, clock, kept, written: () => writtenIn(directory) }
}

/** A write replaces the file, so its inode changes. */
const writtenIn = (directory: string): Record<string, number> =>
  Object.fromEntries(readdirSync(directory).map((name) => [name, statSync(join(directory, name)).ino]))

it('writes a response when it has changed, and only its own file', async () => {
  const { directory, clock, kept, written } = open()
  kept.set('jobs.list {}', sent({ jobs: [1] }))
  kept.set('nodes.list {}', sent({ nodes: [1] }))
  await clock.advanceBy(10_000)
  await kept.stop()
  const first = written()
  expect(Object.keys(first)).toHaveLength(3)

  kept.set('nodes.list {}', sent({ nodes: [1] }))
  await clock.advanceBy(60_000)
  await kept.stop()
  expect(written()).toEqual(first)

  kept.set('nodes.list {}', sent({ nodes: [1, 2] }))
  await kept.stop()
  const second = written()
  const changed = Object.keys(second).filter((name) => second[name] !== first[name])
  expect(changed).toHaveLength(2)
  expect(changed).toContain('index.json')

  const later = open(directory).kept
  expect(later.asOfMs).toBe(kept.asOfMs)
  expect(later.newest(5)).toEqual(['nodes.list {}', 'jobs.list {}'])
  expect(await later.get('nodes.list {}')).toEqual({ nodes: [1, 2] })
  expect(await later.get('jobs.list {}')).toEqual({ jobs: [1] })
  expect(await later.get('jobs.list {"limit":1}')).toBeUndefined()
})

it('neither encodes nor decodes a large response, except for a caller that needs it', async () => {
  const { directory, kept } = open()
  const large = sent('x'.repeat(900_000))
  const lengths: number[] = []
  const { stringify, parse } = JSON
  vi.spyOn(JSON, 'stringify').mockImplementation((...given: Parameters<typeof JSON.stringify>) => {
    const text = stringify(...given)
    lengths.push(text?.length ?? 0)
    return text
  })
  vi.spyOn(JSON, 'parse').mockImplementation((text: string) => {
    lengths.push(text.length)
    return parse(text) as unknown
  })
  for (const key of ['a', 'b', 'c', 'd']) kept.set(key, large)
  await kept.stop()
  const later = open(directory).kept
  expect(Math.max(...lengths)).toBeLessThan(1_000)
  await later.get('a')
  expect(Math.max(...lengths)).toBeGreaterThan(900_000)
})

it('keeps the newest responses within its limits, in memory and in files', async () => {
  const { directory, kept } = open()
  const large = sent('x'.repeat(900_000))
  for (let count = 0; count < 6; count += 1) kept.set(`large ${count}`, large)
  kept.set('too large', sent('x'.repeat(1_100_000)))
  await kept.stop()
  expect(kept.newest(10)).toEqual(['large 5', 'large 4', 'large 3', 'large 2'])
  expect(readdirSync(directory)).toHaveLength(5)
  for (let count = 0; count < 300; count += 1) kept.set(`small ${count}`, sent(count))
  await kept.stop()
  expect(kept.newest(1_000)).toHaveLength(200)
  expect(readdirSync(directory)).toHaveLength(201)
  expect(await kept.get('small 299')).toBe(299)
  expect(await kept.get('large 5')).toBeUndefined()
})

it('ignores damaged and missing files, and returns the rest', async () => {
  const { directory, kept, written } = open()
  kept.set('a', sent(1))
  await kept.stop()
  const [file] = Object.keys(written()).filter((name) => name !== 'index.json')
  kept.set('b', sent(2))
  await kept.stop()
  writeFileSync(join(directory, file!), '{"json":')
  const later = open(directory).kept
  expect(await later.get('a')).toBeUndefined()
  expect(await later.get('b')).toBe(2)
  writeFileSync(join(directory, 'index.json'), '{')
  const damaged = open(directory)
  expect(damaged.kept.asOfMs).toBeNull()
  damaged.kept.set('c', sent(3))
  await damaged.kept.stop()
  expect(readdirSync(directory)).toHaveLength(2)
})

it('shows and leaves nothing after it was cleared', async () => {
  const { directory, kept } = open()
  kept.set('a', sent(1))
  await kept.stop()
  const asked = kept.get('a')
  await kept.clear()
  expect(await asked).toBeUndefined()
  expect(kept.asOfMs).toBeNull()
  expect(() => readdirSync(directory)).toThrow('ENOENT')
  kept.set('b', sent(2))
  await kept.stop()
  expect(await open(directory).kept.get('b')).toBe(2)
})
