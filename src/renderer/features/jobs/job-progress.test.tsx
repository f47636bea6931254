import { screen, waitFor, within } from '@testing-library/react'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { createFakeEngine, type FakeEngine } from '../../testing/fake-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'
import { ratesOf } from './job-progress.tsx'

let engine: FakeEngine
let app: ReturnType<typeof renderApp>

beforeEach(() => {
  engine = createFakeEngine({ jobCount: 100 })
})
afterEach(() => app.stop())

const running = () => [...engine.jobs.values()].find(({ state, errors }) => state === 'running' && (errors ?? 0) > 0)!
const openStats = async () => {
  app = renderApp(engine, `/jobs?job=${running().id}&tab=stats`)
  return within(await screen.findByRole('complementary', { name: 'Job' }))
}

it('a running job shows facts from its log: rates over time, responses, notes, versions and errors by group', async () => {
  const pane = await openStats()
  expect(await pane.findByText('Pages per minute')).toBeTruthy()
  for (const text of ['Responses 404', 'Duplicate requests filtered', 'Scrapy 2.13.4, Python 3.12.4'])
    expect(pane.getByText(text)).toBeTruthy()
  const errors = within(pane.getByRole('region', { name: 'Errors' }))
  const { errors: known } = await engine.client.errors.ofJob({ jobId: running().id })
  const title = await errors.findByRole('link', { name: known[0]!.group.title })
  expect(title.getAttribute('href')).toContain(`/errors?group=${known[0]!.group.id}`)
  expect(errors.getByRole('link', { name: 'Line 41' }).getAttribute('href')).toContain('line=41')
})

it('facts that could not be read at first appear with the next progress', async () => {
  engine.failures.set('jobs.figures', new ScrapdeckError('LOG_NOT_FOUND', 'The log has not been read yet'))
  const pane = await openStats()
  await pane.findByText('Scrapy’s stats')
  await waitFor(() => expect(engine.calls).toContain('jobs.figures'))
  expect(pane.queryByText('Pages per minute')).toBeNull()
  engine.failures.clear()
  const progress = { pages: 9, items: 3, errors: 0, pagesPerMinute: 9, itemsPerMinute: 3 }
  engine.emit({ kind: 'job_progress', id: running().id, progress })
  expect(await pane.findByText('Pages per minute')).toBeTruthy()
})

it('shows rates, not totals, so that a slower run is visible', () => {
  const series = { startMs: 0, widthMs: 120_000, pages: [120, 200, 200], items: [], errors: [] }
  expect(ratesOf(series, 'pages', { startedAtMs: 0, endedAtMs: 360_000 })).toEqual([
    { atMs: 120_000, value: 60 },
    { atMs: 240_000, value: 40 },
    { atMs: 360_000, value: 0 }
  ])
})

it('shows no rise or fall for an interval that is incomplete or not over', () => {
  const series = { startMs: 0, widthMs: 60_000, pages: [60, 90], items: [], errors: [] }
  expect(ratesOf(series, 'pages', { startedAtMs: 0, endedAtMs: null })).toEqual([{ atMs: 60_000, value: 60 }])
  expect(ratesOf(series, 'pages', { startedAtMs: 30_000, endedAtMs: 90_000 })).toEqual([
    { atMs: 60_000, value: 120 },
    { atMs: 90_000, value: 60 }
  ])
})

it('draws no line at 0 for pages that the log does not count', async () => {
  engine.jobs.set(running().id, { ...running(), pages: null })
  const pane = await openStats()
  expect(await pane.findByText('Errors per minute')).toBeTruthy()
  expect(pane.queryByText('Pages per minute')).toBeNull()
})
