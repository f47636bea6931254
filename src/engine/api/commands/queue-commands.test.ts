import { expect, it, vi } from 'vitest'
import type { LimitRule } from '../../../shared/contract/index.ts'
import { aProjectName } from '../../../shared/testing/ids.ts'
import { LiveAttempts } from '../../jobs/dispatch/live-attempts.ts'
import type { StoredLimits } from '../../model/records.ts'
import { WaitingReasons } from '../../jobs/queue/waiting-reasons.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { QueueCommands } from './queue-commands.ts'

const RULES: LimitRule[] = [
  { id: 'a1', project: aProjectName('shop'), spider: null, tag: null, perNode: false, max: 2 },
  { id: 'a2', project: null, spider: 'price*', tag: null, perNode: true, max: 1 }
]

const NO_STORE = {} as ConstructorParameters<typeof LiveAttempts>[0]['store']

function someCommands(kept: { limits: StoredLimits } = { limits: { revision: 0, rules: [] } }) {
  const live = new LiveAttempts({ store: NO_STORE, clock: createFakeClock() })
  const onLimitsChanged = vi.fn()
  const wakeDispatcher = vi.fn()
  const commands = new QueueCommands({
    store: {
      getLimits: async () => kept.limits,
      putLimits: async (limits) => void (kept.limits = limits),
      listLanes: async () => [],
      readHeads: async () => [],
      onQueueChange: () => () => undefined
    },
    live,
    fleet: { get: () => undefined },
    waiting: new WaitingReasons(),
    wakeDispatcher
  })
  commands.events.on('limitsChanged', onLimitsChanged)
  return { commands, kept, onLimitsChanged, wakeDispatcher }
}

it('limits survive a restart, and subscribers receive changes', async () => {
  const { commands, kept, onLimitsChanged, wakeDispatcher } = someCommands()
  const expected = RULES.map((rule) => ({ ...rule, live: 0 }))
  expect(await commands.setLimits(RULES)).toEqual(expected)
  expect([onLimitsChanged, wakeDispatcher].map(({ mock }) => mock.calls.length)).toEqual([1, 1])
  const next = someCommands(kept)
  await next.commands.readLimits()
  expect(next.commands.limits()).toEqual(expected)
})

it('two limits with one id are refused, and nothing changes', async () => {
  const { commands, kept, onLimitsChanged } = someCommands()
  await commands.setLimits(RULES)
  const twice = RULES.map((rule) => ({ ...rule, id: 'a1', max: 9 }))
  await expect(commands.setLimits(twice)).rejects.toThrow(
    '"limit 9 for project shop" and "limit 9 of price* on each node" have the same id a1'
  )
  expect(commands.limits().map(({ max }) => max)).toEqual([2, 1])
  expect(kept.limits).toEqual({ revision: 1, rules: RULES })
  expect(onLimitsChanged).toHaveBeenCalledTimes(1)
})
