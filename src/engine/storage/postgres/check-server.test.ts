import { expect, test } from 'vitest'
import { judgeServer, type ServerFacts } from './check-server.ts'

const WELL: ServerFacts = {
  versionNumber: 150_018,
  isReplica: false,
  isReadOnly: false,
  fsync: 'on',
  fullPageWrites: 'on',
  synchronousCommit: 'on',
  encoding: 'UTF8',
  keepsSession: true
}

test('a server with the usual settings is accepted', () => {
  expect(judgeServer(WELL)).toEqual({ refusal: null, warnings: [] })
})

test.each([
  [{ versionNumber: 130_012 }, '14 or later'],
  [{ isReplica: true }, 'replica'],
  [{ isReadOnly: true }, 'read-only'],
  [{ fsync: 'off' }, 'fsync is off'],
  [{ encoding: 'SQL_ASCII' }, 'encoding'],
  [{ keepsSession: false }, 'transaction pooler']
])('a server that cannot keep the promises of a store is refused: %j', (facts, words) => {
  expect(judgeServer({ ...WELL, ...facts }).refusal).toContain(words)
})

test('a server with settings that are only risky causes a warning', () => {
  const { refusal, warnings } = judgeServer({ ...WELL, synchronousCommit: 'off', fullPageWrites: 'off' })
  expect([refusal, warnings.length]).toEqual([null, 2])
})
