import { configure, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
import { openRealEngine, type RealEngine } from '../../testing/real-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'

configure({ asyncUtilTimeout: 8000 })

let engine: RealEngine
let app: ReturnType<typeof renderApp>
afterEach(() => app.stop())

it('shows the figures of the last day or week beside the previous ones, links to their details, and can be printed', async () => {
  engine = await openRealEngine()
  app = renderApp(engine, '/alerts')
  fireEvent.click(await screen.findByRole('link', { name: 'Report' }))
  const report = within(await screen.findByRole('article', { name: 'Report' }))
  expect(report.getByText('Failed').closest('div')?.textContent).toBe('Failed44 more than the day before')
  expect(report.getByText('Succeeded').closest('div')?.textContent).toMatch(
    /^Succeeded\d+ (more|fewer) than the day before$/
  )
  const failing = within(report.getByRole('table', { name: 'Failing spiders' }))
  expect(failing.getByRole('row').textContent).toMatch(/^prices\/otto.*KeyError: 'offerPrice'4 of 4 runs$/)
  expect(failing.getByRole('link').getAttribute('href')).toMatch(/^\/jobs\?.*spider=otto/)
  expect(report.getByRole('link', { name: /^KeyError: 'offerPrice'/ }).getAttribute('href')).toMatch(
    /^\/errors\?group=\d+$/
  )
  expect(report.getAllByText(/^median .*, longest /)).not.toHaveLength(0)
  expect(report.getByText('2 down')).toBeTruthy()

  fireEvent.click(screen.getByRole('radio', { name: 'Last 7 days' }))
  await waitFor(() =>
    expect(report.getByText('Failed').closest('div')?.textContent).toBe('Failed44 more than the 7 days before')
  )
  expect(app.router.state.location.href).toBe('/alerts/report?days=7')

  const print = vi.spyOn(window, 'print').mockReturnValue()
  fireEvent.click(screen.getByRole('button', { name: 'Print' }))
  expect(print).toHaveBeenCalledOnce()
  print.mockRestore()
})

it('is refreshed each minute', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  engine = await openRealEngine()
  app = renderApp(engine, '/alerts/report')
  await screen.findByRole('article', { name: 'Report' })
  const reads = () => engine.calls.filter((name) => name === 'alerts.report').length
  const before = reads()
  vi.advanceTimersByTime(59_000)
  expect(reads()).toBe(before)
  vi.advanceTimersByTime(1_000)
  await waitFor(() => expect(reads()).toBe(before + 1))
})
