import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { createSeededRandom } from '../../../testing/seeded-random.ts'
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../../testing/temporary-directory.ts'
import { isCandidate } from '../../../storage/log-blocks.ts'
import { bitsOf, FILTER_BITS, FILTER_BYTES, hasBit } from './block-filter.ts'
import { type BitTerm, BlockWriter, endOfBlocks, fitsTerm, probeBlocks, SEGMENT_BLOCKS } from './index-files.ts'
import { indexLogs } from './index-logs.ts'
import { isCore } from '../../../../../scripts/test-length.mjs'

const MIB = 1_048_576
let directory: TemporaryDirectory
beforeEach(async () => {
  directory = await makeTemporaryDirectory({ inMemory: true })
})
afterEach(() => directory.remove())

const random = createSeededRandom(7)
const filters = Array.from({ length: 20 }, () =>
  new Uint8Array(FILTER_BYTES).map(() => Math.floor(random.next() * 256) & Math.floor(random.next() * 256))
)

function write(blocks: number[]): void {
  const writer = new BlockWriter(directory.path)
  for (const block of blocks) writer.write(block, filters[block % filters.length]!)
  writer.close()
}
const found = (term: BitTerm, blocks: number[]) => {
  const candidates = probeBlocks(directory.path, term)
  return blocks.filter((block) => isCandidate(candidates, block))
}

describe('the files of the index', () => {
  const term = fc.letrec<{ term: BitTerm }>((tie) => ({
    term: fc.oneof(
      { maxDepth: 2 },
      fc.array(fc.nat(FILTER_BITS - 1), { maxLength: 4 }).map((bits) => ({ bits })),
      fc.array(tie('term'), { minLength: 1, maxLength: 3 }).map((any) => ({ any })),
      fc.array(tie('term'), { maxLength: 3 }).map((all) => ({ all }))
    )
  })).term

  test.skipIf(isCore)('find the same blocks in rows and in a full segment', () => {
    const blocks = [0, 3, 5, 17, 18, 200, SEGMENT_BLOCKS - 1]
    write(blocks)
    const check = () =>
      fc.assert(
        fc.property(term, (one) => {
          const expected = blocks.filter((block) =>
            fitsTerm(one, (bit) => hasBit(filters[block % filters.length]!, bit))
          )
          expect(found(one, blocks)).toEqual(expected)
        }),
        { numRuns: 60 }
      )
    check()
    expect(existsSync(join(directory.path, '0.rows'))).toBe(true)
    write([SEGMENT_BLOCKS])
    expect(existsSync(join(directory.path, '0.rows'))).toBe(false)
    check()
    expect(endOfBlocks(directory.path)).toBe(SEGMENT_BLOCKS + 1)
  })

  const NEVER: BitTerm = { all: filters.map((_, at) => ({ bits: [at * 9, at * 9 + 1, at * 9 + 2, at * 9 + 3] })) }

  test('rule out no blocks that were not written, are damaged or are newer', () => {
    write([1, 2])
    const path = join(directory.path, '0.rows')
    expect(found(NEVER, [0, 1, 2, 3, 5_000])).toEqual([0, 3, 5_000])
    const bytes = readFileSync(path)
    bytes[bytes.length - 100]! ^= 1
    writeFileSync(path, bytes)
    write([SEGMENT_BLOCKS])
    expect(found(NEVER, [0, 1, 2])).toEqual([0, 2])
  })

  test('that were cut in the middle of a block are continued after it', async () => {
    write([0, 1])
    const path = join(directory.path, '0.rows')
    await writeFile(path, readFileSync(path).subarray(0, -50))
    expect(endOfBlocks(directory.path)).toBe(2)
    write([2])
    expect(found(NEVER, [0, 1, 2])).toEqual([1])
  })
})

test('a line belongs to the block in which it starts, however long it is', async () => {
  const line = (name: string, length: number) => `${name}${' '.repeat(length - name.length - 1)}\n`
  // One line across the end of a frame, and one that fills two frames.
  const texts = [line('first-one', MIB - 100), line('over-end', 300), line('inside', 1_000), line('giant-one', 3 * MIB)]
  const log = Buffer.from(`${texts.join('')}${line('behind-it', 200)}last-of-all`)
  const path = join(directory.path, 'log')
  await writeFile(path, log)
  const index = join(directory.path, 'index')
  const order = {
    directory: index,
    nextBlock: 5,
    openBlock: null,
    logs: [{ file: { kind: 'plain' as const, path }, isTailOnly: false }]
  }
  const result = await indexLogs(order, () => false)
  expect(result.logs).toEqual([{ rawBytes: log.length, firstBlock: 5, wholeBlocks: 4, tailBlock: 'open' }])
  const bitsOfText = (text: string) => bitsOf(Buffer.from(text))
  const blocksWith = (text: string) => {
    const candidates = probeBlocks(index, { bits: bitsOfText(text) })
    return [5, 6, 7, 8].filter((block) => isCandidate(candidates, block))
  }
  expect(blocksWith('first-one')).toEqual([5])
  expect(blocksWith('over-end ')).toEqual([5])
  expect(blocksWith('inside ')).toEqual([6])
  expect(blocksWith('giant-one')).toEqual([6])
  for (const text of ['behind-it', 'last-of-all'])
    expect(bitsOfText(text).every((bit) => hasBit(result.openBlock!.filter, bit))).toBe(true)
  expect(bitsOfText('inside ').every((bit) => hasBit(result.openBlock!.filter, bit))).toBe(false)
})
