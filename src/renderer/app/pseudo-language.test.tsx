// @vitest-environment jsdom
import '../testing/speak-pseudo.tsx'
import { afterEach, expect, it, vi } from 'vitest'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/nodes.ts'
import { say, waitFor } from '../../shared/texts/message.ts'
import { translated } from '../api/in-language.ts'
import { BARE_TEXTS_HINT } from '../testing/bare-texts.ts'
import { createFakeEngine } from '../testing/fake-engine.ts'
import { openRealEngine } from '../testing/real-engine.ts'
import { walkApp } from '../testing/walk-app.ts'

let walk: ReturnType<typeof walkApp>
afterEach(() => walk.app.stop())

it('each screen shows only texts of the catalogue, so that a second language is a file', {
  timeout: 90_000
}, async () => {
  const engine = await openRealEngine('fleet')
  walk = walkApp(engine)
  for (const screen of walk.screens) await walk.open(screen)
  const { jobs } = await engine.client.jobs.list({ limit: 500 })
  const ofEachStatus = new Map(jobs.map((job) => [job.status, job.id]))
  for (const id of ofEachStatus.values()) await walk.open(`/jobs?job=${id}`)
  const { alerts } = await engine.client.alerts.list({ limit: 100 })
  for (const { id } of alerts) await walk.open(`/alerts?alert=${id}`)
  const { schedules } = await engine.client.schedules.list({ limit: 100 })
  for (const { id } of schedules) await walk.open(`/schedules?schedule=${id}`)
  expect(walk.found, BARE_TEXTS_HINT).toEqual({})
})

it('renders what the engine sends by its code: errors, and texts in live changes', async () => {
  const engine = createFakeEngine({ jobCount: 60 })
  walk = walkApp(engine)
  const { open, settle } = walk
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
