import { expect, test } from 'vitest'
import type { FleetNode } from '../../nodes/fleet.ts'
import { namesakeEngineProblems, plainHttpProblems, unreadyEngineProblems } from './engine-problems.ts'

test('engines with the same name are a problem that says where they are', () => {
  expect(namesakeEngineProblems([])).toEqual([])
  const addresses = ['http://10.0.0.1:6800', 'http://10.0.0.2:6800']
  const [problem] = namesakeEngineProblems([{ name: 'north', addresses, sinceMs: 5 }])
  expect(problem).toMatchObject({ severity: 'error', title: '2 engines are named north', sinceMs: 5 })
  expect(problem!.text).toContain('http://10.0.0.1:6800, http://10.0.0.2:6800')
})

test('plain HTTP that other machines can reach is a problem that says where and what to do', () => {
  expect(plainHttpProblems(null)).toEqual([])
  expect(plainHttpProblems('0.0.0.0')).toMatchObject([
    { id: 'plain-http', severity: 'warning', text: expect.stringMatching(/0\.0\.0\.0 .*tls_certificate.*behind_proxy/) }
  ])
})

test('an engine whose machine has no Scrapy is a problem, unless its node gets no jobs anyway', () => {
  const aNode = (kind: string, mode = 'active', why: string | null = 'has no Python with Scrapy') =>
    ({
      stored: { id: 'n', name: 'north', kind, mode },
      status: { health: 'up' },
      client: { whyNotReady: () => why }
    }) as unknown as FleetNode
  const [problem] = unreadyEngineProblems([aNode('engine')])
  expect(problem).toMatchObject({
    title: 'north cannot run spiders yet',
    text: 'north has no Python with Scrapy',
    nodeId: 'n'
  })
  const others = [aNode('engine', 'cordoned'), aNode('engine', 'active', null), aNode('local')]
  expect(unreadyEngineProblems(others)).toEqual([])
})
