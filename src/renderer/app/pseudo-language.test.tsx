// @vitest-environment jsdom
import '../testing/speak-pseudo.tsx'
import { afterEach, expect, it, vi } from 'vitest'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/nodes.ts'
import { say, waitFor } from '../../shared/texts/message.ts'
import { translated } from '../api/in-language.ts'
import { walkApp } from '../testing/walk-app.ts'

let walk: Awaited<ReturnType<typeof walkApp>>
afterEach(() => walk.app.stop())

it('each screen shows only texts of the catalogue, so that a second language is a file', {
  timeout: 90_000
}, async () => {
  walk = await walkApp()
  for (const screen of walk.screens) await walk.open(screen)
  const job = [...walk.engine.jobs.values()].find(({ status }) => status === 'failed')!
  for (const tab of ['log', 'stats', 'items', 'settings']) await walk.open(`/jobs?job=${job.id}&tab=${tab}`)
  expect(walk.found).toEqual({})
})

it('renders what the engine sends by its code: errors, and texts in live changes', async () => {
  walk = await walkApp()
  const { engine, open, settle } = walk
  engine.failures.set('nodes.list', new ScrapdeckError('NODE_NOT_FOUND', sentence('nodes.no_node', { id: 'eu-9' })))
  await open('/nodes')
  expect(document.body.textContent).toContain('⟦There is no node eu-9')
  const job = [...engine.jobs.values()].find(({ state }) => state === 'queued')!
  engine.failures.clear()
  await open(`/jobs?job=${job.id}`)
  engine.emit({ kind: 'job', job: { ...job, waiting: { ...waitFor('node_refused', { node: 'eu-9' }) } } })
  await vi.waitUntil(() => document.body.textContent.includes('⟦eu-9 refused the job'), { timeout: 5000 })
  await settle()
})

it('renders texts in the evidence of a timeline, and keeps texts that have no code', () => {
  const evidence = { because: 'eu-9 refused the job; retrying soon', pid: 7 }
  const evidenceCodes = {
    because: say('waiting.node_refused', { node: 'eu-9' }),
    other: { code: 'later.code', params: {} }
  }
  const step = { text: 'Danced', code: 'timeline.danced', params: {}, evidence, evidenceCodes }
  expect(translated([step])).toEqual([
    { ...step, evidence: { because: '⟦eu-9 refused the job; retrying soon⟧', pid: 7 } }
  ])
})
