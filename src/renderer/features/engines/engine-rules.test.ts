import { expect, it } from 'vitest'
import type { EngineInfo } from '../../../shared/contract/index.ts'
import { livingVersions, whyNotDrain } from './engine-rules.ts'

const anEngine = (over: Partial<EngineInfo>): EngineInfo => ({
  id: 'e',
  name: 'north',
  address: 'http://north:6800',
  version: '1.0.0',
  startedAtMs: 0,
  silentMs: 0,
  state: 'following',
  drained: false,
  hasLocalNode: false,
  ...over
})

it('the last engine that could lead cannot be drained', () => {
  const leader = anEngine({ id: '1', state: 'leading' })
  const others = [anEngine({ id: '2', state: 'silent' }), anEngine({ id: '3', drained: true })]
  expect(whyNotDrain(leader, [leader, ...others])).toMatch(/No other engine/)
  expect(whyNotDrain(leader, [leader, ...others, anEngine({ id: '4' })])).toBeNull()
  expect(whyNotDrain({ ...leader, drained: true }, [leader, ...others])).toBeNull()
})

it('the version of an engine that is gone no longer counts', () => {
  const engines = [anEngine({}), anEngine({ version: '1.1.0' }), anEngine({ version: '0.9.0', state: 'silent' })]
  expect(livingVersions(engines)).toEqual(['1.0.0', '1.1.0'])
})
