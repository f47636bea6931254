import { describe, expect, it } from 'vitest'
import type { NodeHealth } from '../../../shared/contract/index.ts'
import { aNodeId } from '../../../shared/testing/ids.ts'
import { silentLogger } from '../../runtime/logger.ts'
import type { NewEvent } from '../../model/records.ts'
import { createFakeClock, settle } from '../../testing/fake-clock.ts'
import { EventRecorder } from './event-recorder.ts'

function setUp(recordEvents: (events: NewEvent[]) => Promise<void> = async () => {}) {
  const noted: NewEvent[] = []
  const errors: string[] = []
  let told = 0
  const eventRecorder = new EventRecorder({
    store: {
      async recordEvents(events) {
        await recordEvents(events)
        noted.push(...events)
      }
    },
    clock: createFakeClock(),
    logger: { ...silentLogger, error: (_fields: object, text: string) => void errors.push(text) }
  })
  eventRecorder.events.on('recorded', () => {
    told += 1
  })
  const goes = (from: NodeHealth, to: NodeHealth) =>
    eventRecorder.recordHealth(
      { stored: { id: aNodeId('n1'), name: 'one', url: 'http://one:6800/' }, status: { health: to, problem: null } },
      from
    )
  return { eventRecorder, goes, noted, errors, told: () => told }
}

describe('recorded events of the fleet', () => {
  it.each<[NodeHealth, NodeHealth, string | null]>([
    ['unknown', 'up', null],
    ['unknown', 'down', 'node.down'],
    ['up', 'down', 'node.down'],
    ['up', 'unauthorized', 'node.down'],
    ['down', 'unauthorized', null],
    ['down', 'up', 'node.up'],
    ['up', 'unknown', null]
  ])('a node that was %s and is %s is the event %s', async (from, to, event) => {
    const { goes, noted, told } = setUp()
    goes(from, to)
    await settle()
    expect(noted.map((each) => each.event)).toEqual(event === null ? [] : [event])
    expect(told()).toBe(noted.length)
  })

  it('refusals of the store are logged, but not while the engine stops', async () => {
    const { eventRecorder, goes, errors, told } = setUp(() => Promise.reject(new Error('the disk is full')))
    goes('up', 'down')
    await settle()
    expect(errors).toEqual(['an event could not be recorded and will not be delivered'])
    eventRecorder.stop()
    goes('down', 'up')
    await settle()
    expect(errors).toHaveLength(1)
    expect(told()).toBe(0)
  })
})
