import { afterEach, beforeEach, expect, test } from 'vitest'
import { silentLogger } from '../../runtime/logger.ts'
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.ts'
import type { LeaseTable } from '../../storage/lease-table.ts'
import { Election } from './election.ts'
import { FakeDatabase } from './testing/fake-database.ts'

let clock: FakeClock
let database: FakeDatabase
let elections: Election[]
beforeEach(() => {
  clock = createFakeClock()
  database = new FakeDatabase(clock.nowMs)
  elections = []
})
afterEach(async () => {
  await Promise.all([...elections.map((election) => election.stop()), clock.advanceBy(60_000)])
  expect(clock.timerCount()).toBe(0)
})

function join(id: string, lead: () => Promise<void> = async () => {}) {
  const session = { isOpen: true }
  const silent: { never?: Promise<never> } = {}
  let resets = 0
  const told = <Answer>(answer: () => Answer): Promise<Answer> => silent.never ?? Promise.resolve().then(answer)
  const nobodyAsks = () => Promise.reject(new Error('nobody asks this'))
  const table: LeaseTable = {
    look: (options) => told(() => database.look(session, options)),
    unlock: () => told(() => database.unlock(session)),
    take: (claim) => told(() => database.take(claim)),
    renew: (lease) => told(() => database.renew(lease)),
    release: (lease) => told(() => database.release(lease)),
    beat: (engine) => told(() => database.beat(engine)),
    leave: (name) => told(() => database.leave(name)),
    reset: () => void (resets += 1),
    close: async () => database.endSession(session),
    clientAddress: nobodyAsks,
    common: nobodyAsks,
    setDrained: nobodyAsks,
    list: nobodyAsks,
    terms: nobodyAsks
  }
  // `north#2` is a later process at `north`'s address.
  const self = {
    id,
    name: id,
    address: `http://${id.split('#', 1)[0]}`,
    version: '1',
    hasLocalNode: false,
    blobs: '',
    certificate: ''
  }
  const election = new Election({
    self,
    clock,
    logger: silentLogger,
    lead,
    follow: async () => {},
    openTable: () => table
  })
  elections.push(election)
  return { election, silent, resets: () => resets }
}

test('the first engine leads, and the other one knows its address', async () => {
  const [north, south] = [join('north').election, join('south').election]
  await north.start()
  await south.start()
  expect([north.mayAct(), south.mayAct()]).toEqual([true, false])
  expect([north.leaderAddress(), south.leaderAddress()]).toEqual([null, 'http://north'])
})

test('an engine that was restarted does not take its former self for the leader', async () => {
  const before = join('north')
  await before.election.start()
  before.silent.never = new Promise(() => {})
  const again = join('north#2').election
  const starting = again.start()
  await clock.advanceBy(500)
  expect([again.leaderAddress(), again.mayAct()]).toEqual([null, false])
  await clock.advanceBy(20_000)
  await starting
  expect(again.mayAct()).toBe(true)
})

test('a start rejects with the reason if this engine cannot lead when it should; another one may', async () => {
  const north = join('north', () => Promise.reject(new Error('no Python')))
  await expect(north.election.start()).rejects.toThrow('no Python')
  const south = join('south')
  await south.election.start()
  expect(south.election.mayAct()).toBe(true)
})

test('an engine that fails to lead leaves the lease to others for a while', async () => {
  let isAble = false
  const north = join('north', () => (isAble ? Promise.resolve() : Promise.reject(new Error('no Python'))))
  await expect(north.election.start()).rejects.toThrow()
  isAble = true
  await clock.advanceBy(9_000)
  expect(north.election.lease).toBeNull()
  await clock.advanceBy(1_500)
  expect(north.election.mayAct()).toBe(true)
})

test('a database connection that never answers is replaced by another', async () => {
  const north = join('north')
  await north.election.start()
  north.silent.never = new Promise(() => {})
  await clock.advanceBy(5_600)
  expect([north.election.mayAct(), north.election.isConnected, north.resets()]).toEqual([false, false, 1])
  delete north.silent.never
  await clock.advanceBy(5_000)
  expect([north.election.mayAct(), north.election.isConnected]).toEqual([true, true])
})
