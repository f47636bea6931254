import { expect, test } from 'vitest'
import { canReadEachOther, isOwnPlace, isSamePlace, knownMarkOf, nameOfPlace } from '../../storage/blobs/blobs-place.ts'
import type { EngineRow } from '../../storage/lease-table.ts'
import { describeEngines, isBefore, listApart } from './describe-engines.ts'

const row = (id: string, more: Partial<EngineRow> = {}): EngineRow => ({
  id,
  name: id,
  address: `http://${id}`,
  version: '1',
  blobs: `directory:m /mnt/${id}`,
  hasLocalNode: false,
  certificate: '',
  isDrained: false,
  startedAtMs: 1,
  silentMs: 100,
  ...more
})

test('a location is identified by its content, not by its path, and nothing is reported about an unknown one', () => {
  expect(isSamePlace('directory:a /mnt/one', 'directory:a /mnt/the other')).toBe(true)
  expect(isSamePlace('directory:a /mnt/one', 'directory:b /mnt/one')).toBe(false)
  expect(isSamePlace('s3:/crawls/a/ s3://crawls/a', 'directory:a /mnt/one')).toBe(false)
  expect(isSamePlace('', 'directory:a /mnt/one')).toBe(true)
  expect(nameOfPlace('directory:a /mnt/the other')).toBe('/mnt/the other')
  expect([isOwnPlace('directory:a the data directory'), isOwnPlace('directory:a /mnt/a')]).toEqual([true, false])
  expect([knownMarkOf('a /mnt/the other', '/mnt/the other'), knownMarkOf('a /mnt/b', '/mnt/c')]).toEqual(['a', null])
  expect(knownMarkOf(null, '/mnt/a')).toBeNull()
})

test('live engines with another blob location are listed; of two, the one that started first counts as right', () => {
  const self = row('self')
  const apart = row('apart', { blobs: 's3:/crawls/ s3://crawls/' })
  const rows = [
    ...[self, row('same'), apart, row('unknown', { blobs: '' })],
    row('gone', { blobs: apart.blobs, silentMs: 5_001 }),
    row('earlier life', { blobs: apart.blobs, address: self.address })
  ]
  expect(listApart(rows, self).map(({ id }) => id)).toEqual(['apart'])
  expect([isBefore(row('a'), row('b')), isBefore(row('b'), row('a'))]).toEqual([true, false])
  expect(isBefore(row('b'), row('a', { startedAtMs: 2 }))).toBe(true)
})

test("engines differ if they cannot decrypt each other's blobs; a new key may reach them one by one", () => {
  const place = (keys: string) => `directory:m${keys === '' ? '' : `#keys=${keys}`} /mnt/a`
  const reads = (one: string, other: string) => canReadEachOther(place(one), place(other))
  expect([reads('', ''), reads('a', 'a'), reads('a', 'a,b'), reads('a,b', 'b,a')]).toEqual([true, true, true, true])
  expect([reads('', 'a'), reads('a', 'b'), reads('b,a', 'a'), reads('a', '')]).toEqual([false, false, false, false])
  expect([canReadEachOther('', place('a')), isSamePlace(place('a'), place('b'))]).toEqual([true, true])
  expect(nameOfPlace(place('a,b'))).toBe('/mnt/a')
  const rows = [row('self'), row('keyed', { blobs: `directory:m#keys=a /mnt/keyed` })]
  expect(listApart(rows, rows[0]!).map(({ id }) => id)).toEqual(['keyed'])
})

test('a killed engine is silent as soon as its next process sends heartbeats, so no handover goes to it', () => {
  const killed = row('killed', { address: 'http://north', startedAtMs: 1, silentMs: 2_000 })
  const rows = [killed, row('again', { address: 'http://north', startedAtMs: 2 }), row('south')]
  const stateOf = (leader: string) => describeEngines(rows, leader).map(({ state }) => state)
  expect(stateOf('south')).toEqual(['silent', 'following', 'leading'])
  expect(describeEngines([killed, row('south')], 'south')[0]!.state).toBe('following')
})
