import { configure, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterAll, afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createFakeEngine } from '../../testing/fake-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'
import { outliveTerminals, stubCanvas } from '../../testing/stub-canvas.ts'

configure({ asyncUtilTimeout: 8000 })

let app: ReturnType<typeof renderApp>

beforeEach(stubCanvas)
afterEach(() => {
  app.stop()
  vi.restoreAllMocks()
})
afterAll(outliveTerminals)

const selectAllShown = async () => {
  await waitFor(async () =>
    expect(
      (await within(await screen.findByRole('grid', { name: 'Jobs' })).findAllByRole('row')).length
    ).toBeGreaterThan(1)
  )
  fireEvent.click(await screen.findByRole('checkbox', { name: 'Select all rows shown' }))
  return within(await screen.findByRole('toolbar', { name: 'Selected jobs' }))
}

it('downloads the logs of the selected jobs that have run as one archive', async () => {
  const engine = createFakeEngine({ jobCount: 20 })
  app = renderApp(engine, '/jobs')
  const saved: Blob[] = []
  const names: string[] = []
  vi.spyOn(URL, 'createObjectURL').mockImplementation((blob) => {
    saved.push(blob as Blob)
    return 'blob:logs'
  })
  vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (this: HTMLAnchorElement) {
    names.push(this.download)
  })
  const bar = await selectAllShown()
  const ran = [...engine.jobs.values()].filter(({ attemptCount }) => attemptCount > 0)
  fireEvent.click(await bar.findByRole('button', { name: `Download ${ran.length} logs` }))
  expect(await screen.findByText(/^Downloaded \d+ logs/)).toBeTruthy()
  expect(names).toEqual(['logs.zip'])
  const text = await saved[0]!.text()
  for (const { id } of ran) expect(text).toContain(id)
})

it('says why there is nothing to download', async () => {
  const engine = createFakeEngine({ jobCount: 60 })
  for (const job of engine.jobs.values()) if (job.state === 'queued') job.attemptCount = 0
  app = renderApp(engine, '/jobs?status=queued')
  const bar = await selectAllShown()
  const button = await bar.findByRole<HTMLButtonElement>('button', { name: /^Download / })
  expect([button.disabled, button.title]).toEqual([true, 'None of the selected jobs has started'])
})
