import { configure, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, expect, it } from 'vitest'
import { type Job, SECRET_MASK } from '../../../shared/contract/index.ts'
import { createFakeEngine, type FakeEngine } from '../../testing/fake-engine.ts'
import { aJob, jobIdAt } from '../../../shared/testing/builders.ts'
import { aNodeId } from '../../../shared/testing/ids.ts'
import { renderApp } from '../../testing/render-app.tsx'

configure({ asyncUtilTimeout: 8000 })

let engine: FakeEngine
let app: ReturnType<typeof renderApp>
afterEach(() => app.stop())

async function openLocalJob(over: Partial<Job>, tab = 'stats') {
  engine = createFakeEngine({ jobCount: 5 })
  const id = jobIdAt(Date.now(), 77)
  const running = { status: 'running', state: 'running', nodeId: 'local', startedAtMs: Date.now() - 90_000 } as const
  engine.jobs.set(id, aJob({ ...running, id, ...over }))
  const limits = { wallSeconds: 1800, memoryMegabytes: 512 }
  await engine.client.projects.configure({ project: 'prices', settings: { python: { kind: 'default' }, limits } })
  app = renderApp(engine, `/jobs?job=${id}&tab=${tab}`)
  return within(await screen.findByRole('complementary', { name: 'Job' }))
}
const ended = { status: 'failed', state: 'ended', outcome: 'failed', endedAtMs: Date.now() } as const

it('draws memory and CPU of a run live; the arrow keys read out a value', async () => {
  const pane = await openLocalJob({})
  const chart = await pane.findByRole('slider', { name: /^Memory over time, peak \d+ MB$/ })
  expect(pane.getByRole('slider', { name: /^CPU over time, peak \d+ %$/ })).toBeTruthy()
  fireEvent.keyDown(chart, { key: 'Home' })
  expect(chart.getAttribute('aria-valuetext')).toMatch(/^\d+ MB at 0:0\d$/)
  fireEvent.keyDown(chart, { key: 'ArrowRight' })
  expect(chart.getAttribute('aria-valuenow')).toBe('1')
  expect(pane.getByRole('columnheader', { name: 'now' })).toBeTruthy()
  await waitFor(() => expect(engine.calls.filter((call) => call === 'jobs.usage').length).toBeGreaterThan(1))
})

it('lists the limits in force and where each comes from', async () => {
  const pane = await openLocalJob({ limits: { memoryMegabytes: 2048 } })
  const usage = within(await pane.findByRole('region', { name: 'Memory and CPU' }))
  const rows = (await usage.findAllByRole('row')).map(({ textContent }) => textContent)
  expect(rows).toContain('Wall time30 min · project')
  expect(rows).toContain('Memory2 GB · this job')
})

it('shows first which limit ended a job, and the value it reached', async () => {
  const pane = await openLocalJob({ ...ended, reason: 'memory limit of 512 MB' })
  expect(await pane.findByText('Stopped by the memory limit of 512 MB (used 530 MB).')).toBeTruthy()
  expect(pane.queryByRole('columnheader', { name: 'now' })).toBeNull()
  fireEvent.click(pane.getByRole('tab', { name: 'Attempts' }))
  expect((await pane.findByText('Peak memory')).parentElement?.textContent).toMatch(/\d+ MB/)
})

it('shows no usage of a run on another node, which does not report it', async () => {
  const pane = await openLocalJob({ nodeId: aNodeId('eu-1') })
  expect(await pane.findByText('Runtime')).toBeTruthy()
  expect(pane.queryByRole('region', { name: 'Memory and CPU' })).toBeNull()
})

it('marks a secret, without its value', async () => {
  const pane = await openLocalJob({ args: { token: SECRET_MASK, page: '2' }, secretNames: ['token'] }, 'arguments')
  const row = (await pane.findByText('token')).closest('tr') as HTMLElement
  expect(within(row).getByRole('img', { name: 'Secret' })).toBeTruthy()
  expect(row.textContent).toContain(SECRET_MASK)
})

it('says, before a job starts and while it runs, that figures from the log are available at its end', async () => {
  const queued = await openLocalJob({ status: 'queued', state: 'queued', startedAtMs: null })
  expect(await queued.findByText('Figures appear when the job runs.')).toBeTruthy()
  app.stop()
  const running = await openLocalJob({})
  expect(await running.findByText('All other stats appear when the job ends.')).toBeTruthy()
})

it('shows an explained dash, and not 0, if the log does not contain the number of items', async () => {
  const pane = await openLocalJob({ ...ended, pages: 12, items: null, errors: null })
  const dash = (await pane.findAllByTitle(/^Unknown: the log has no Scrapy closing stats/)).map(
    (one) => one.textContent
  )
  expect(dash).toEqual(['–', '–'])
  const figure = pane.getByText('Items', { selector: 'dt' }).nextElementSibling
  expect(figure?.textContent).toBe('–')
})
