import { fireEvent, screen, waitFor } from '@testing-library/react'
import { afterEach, expect, it } from 'vitest'
import { useRunDialog } from '../state/open-dialogs.ts'
import { createFakeEngine, type FakeEngine } from '../testing/fake-engine.ts'
import { renderApp } from '../testing/render-app.tsx'

let engine: FakeEngine
let app: ReturnType<typeof renderApp>

async function openPalette(text: string) {
  engine = createFakeEngine({ jobCount: 60 })
  app = renderApp(engine, '/settings')
  await screen.findByRole('heading', { name: 'Settings' })
  fireEvent.keyDown(document.body, { key: 'k', ctrlKey: true })
  fireEvent.change(await screen.findByRole('textbox', { name: 'Search or run a command' }), { target: { value: text } })
}
afterEach(() => {
  app.stop()
  useRunDialog.setState({ prefill: null })
})

const pick = async (name: RegExp) => fireEvent.click(await screen.findByRole('button', { name }))

it('opens the Run dialog with the chosen spider', async () => {
  await openPalette('run zalando')
  await pick(/prices\/zalando/)
  await waitFor(() => expect(useRunDialog.getState().prefill).toEqual({ project: 'prices', spiders: ['zalando'] }))
})

it('finds a job by its id', async () => {
  await openPalette('')
  const job = [...engine.jobs.values()][7]!
  fireEvent.change(screen.getByRole('textbox', { name: 'Search or run a command' }), { target: { value: job.id } })
  await pick(new RegExp(`${job.project}/${job.spider}`))
  await waitFor(() => expect(app.router.state.location.search).toMatchObject({ job: job.id }))
})

it('finds a node by its tag and says when nothing matches', async () => {
  await openPalette('lab-b')
  await screen.findByRole('button', { name: /lab-b/ })
  fireEvent.change(screen.getByRole('textbox', { name: 'Search or run a command' }), { target: { value: 'qqq' } })
  await screen.findByText(/No results for “qqq”/)
})
