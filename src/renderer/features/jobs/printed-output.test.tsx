import { fireEvent, screen, within } from '@testing-library/react'
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { ScrapdeckError } from '../../../shared/errors.ts'
import type { Job } from '../../../shared/contract/index.ts'
import { createFakeEngine, type FakeEngine } from '../../testing/fake-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'
import { outliveTerminals, stubCanvas } from '../../testing/stub-canvas.ts'

let engine: FakeEngine
let app: ReturnType<typeof renderApp>

beforeEach(() => {
  stubCanvas()
  engine = createFakeEngine({ jobCount: 40 })
})
afterEach(() => app.stop())
afterAll(outliveTerminals)

async function openLogOf(outcome: Job['outcome']) {
  const job = [...engine.jobs.values()].find((one) => one.outcome === outcome)!
  app = renderApp(engine, `/jobs?job=${job.id}&tab=log`)
  const pane = within(await screen.findByRole('complementary', { name: 'Job' }))
  await pane.findByRole('button', { name: /^Follow/ })
  return pane
}

it('the output of a successful local run is read on request', async () => {
  const pane = await openLogOf('succeeded')
  const button = await pane.findByRole('button', { name: 'Printed output' })
  expect(pane.queryByLabelText('Printed output', { selector: 'pre' })).toBeNull()
  fireEvent.click(button)
  expect((await pane.findByLabelText('Printed output', { selector: 'pre' })).textContent).toBe('tulip 1\n')
})

it('says so if nothing was printed or kept', async () => {
  const pane = await openLogOf('succeeded')
  engine.failures.set('logs.read', new ScrapdeckError('LOG_NOT_FOUND', 'It is not kept'))
  fireEvent.click(await pane.findByRole('button', { name: 'Printed output' }))
  expect(await pane.findByText('The run printed nothing, or its output is not kept.')).toBeTruthy()
})

it('is not offered for a failed run, whose log contains it', async () => {
  const pane = await openLogOf('failed')
  expect(pane.queryByRole('button', { name: 'Printed output' })).toBeNull()
})
