import { expect, it } from 'vitest'
import { aJobId } from '../../shared/testing/ids.ts'
import { readWholeLog } from './download-log.ts'
import type { LogsClient } from './follow-log.ts'

const jobId = '0'.repeat(32)

/** A log that returns at most 4 characters per read and grows with each read. */
function growingLog() {
  let text = 'abcdefghij'
  const read = async ({ offset }: { offset: number }) => {
    const piece = text.slice(offset, offset + 4)
    const sizeBytes = text.length
    text += '++++'
    return { offset, nextOffset: offset + piece.length, sizeBytes, text: piece, complete: false }
  }
  return { read } as unknown as Pick<LogsClient, 'read'>
}

it('reads a log that grows as fast as it is read only up to its size at the start', async () => {
  const shares: number[] = []
  const parts = await readWholeLog({
    logs: growingLog(),
    jobId: aJobId(jobId),
    onProgress: (share) => shares.push(share)
  })
  expect(parts.join('')).toBe('abcdefghij++')
  expect(shares).toEqual([0.4, 0.8, 1])
})

it('stops at the end of a log that became shorter', async () => {
  const read = async ({ offset }: { offset: number }) => ({
    offset,
    nextOffset: offset,
    sizeBytes: 50,
    text: '',
    complete: true
  })
  expect(
    await readWholeLog({
      logs: { read } as unknown as Pick<LogsClient, 'read'>,
      jobId: aJobId(jobId),
      onProgress: () => {}
    })
  ).toEqual([])
})
