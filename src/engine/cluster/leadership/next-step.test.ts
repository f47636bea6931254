import { expect, test } from 'vitest'
import type { SeenLease } from '../../storage/lease-table.ts'
import { type Follower, HANDOVER_MS, LEASE_MS, nextStep, SETTLED_AFTER_MS } from './next-step.ts'

const LEASE: SeenLease = {
  epoch: 7,
  holder: 'one',
  hasLock: true,
  isExpired: false,
  renewal: '1',
  next: null,
  gotLock: false,
  leaderAddress: 'http://one',
  leaderCertificate: '',
  leaderName: 'north'
}
const FOLLOWER: Follower = { id: 'two', isDrained: false, connectedMs: SETTLED_AFTER_MS, unchangedMs: 0 }
const RELEASED = { holder: null, hasLock: false, leaderName: null, leaderAddress: null, leaderCertificate: null }
const RAN_OUT = { unchangedMs: LEASE_MS }

test.each<[string, Partial<SeenLease>, Partial<Follower>, string | null]>([
  ['a leader that renews is left alone', {}, {}, null],
  ['the first engine leads', { ...RELEASED, epoch: 0 }, { connectedMs: 0 }, 'the first engine'],
  ['a lease that was given back is free', RELEASED, { connectedMs: 0 }, 'the former leader stopped'],
  ['a lease that was not renewed has run out', {}, RAN_OUT, 'north stopped renewing its lease'],
  ['only a follower that saw this itself believes it', { isExpired: true }, {}, null],
  ['a free lock says that the leader is gone', { gotLock: true }, {}, 'north is gone'],
  ['unless the leader never had it', { gotLock: true, hasLock: false }, {}, null],
  ['unless the database may have restarted', { gotLock: true }, { connectedMs: SETTLED_AFTER_MS - 1 }, null],
  ['unless it was gone long before', { gotLock: true, isExpired: true }, { connectedMs: 0 }, 'north is gone'],
  ['a drained engine never leads', RELEASED, { isDrained: true, ...RAN_OUT }, null],
  ['a handover is for one', { ...RELEASED, next: 'three' }, {}, null],
  ['who takes it', { ...RELEASED, next: 'two' }, {}, 'the leadership was handed over'],
  [
    'or another one, if that one does not',
    { ...RELEASED, next: 'three' },
    { unchangedMs: HANDOVER_MS },
    'the former leader stopped'
  ]
])('%s', (_, lease, follower, reason) => {
  const step = nextStep({ ...LEASE, ...lease }, { ...FOLLOWER, ...follower })
  expect(step).toEqual(reason === null ? { do: 'follow' } : { do: 'take', reason })
})
