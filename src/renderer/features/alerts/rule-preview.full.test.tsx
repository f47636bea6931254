import { configure, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, expect, it } from 'vitest'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { openRealEngine, type RealEngine } from '../../testing/real-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'

configure({ asyncUtilTimeout: 8000 })

let engine: RealEngine
let app: ReturnType<typeof renderApp>
afterEach(() => app.stop())

async function openEditor() {
  engine = await openRealEngine()
  app = renderApp(engine, '/alerts/rules')
  fireEvent.click(await screen.findByRole('button', { name: 'New rule' }))
  return within(await screen.findByRole('dialog', { name: 'New alert rule' }))
}
const watch = async (editor: Awaited<ReturnType<typeof openEditor>>, label: string) => {
  fireEvent.click(editor.getByRole('combobox', { name: 'Notify when' }))
  fireEvent.click(await screen.findByRole('option', { name: label }))
}
const previews = () => engine.calls.filter((call) => call === 'alertRules.preview').length

it('tries a rule on the last 14 days on request, lists when it would have fired, and follows the form', async () => {
  const editor = await openEditor()
  expect(previews()).toBe(0)
  await watch(editor, 'a node does not respond')
  fireEvent.click(editor.getByRole('button', { name: 'Preview on past data' }))
  expect(await editor.findByText('Would have fired at least 3 times in the last 14 days')).toBeTruthy()
  const rows = within(editor.getByRole('table', { name: 'When it would have fired' })).getAllByRole('row')
  expect(rows).toHaveLength(3)
  expect(rows.some(({ textContent }) => /us-2.*still firing/.test(textContent ?? ''))).toBe(true)
  expect(rows.some(({ textContent }) => /ap-2.*for \d+ min/.test(textContent ?? ''))).toBe(true)

  const before = previews()
  fireEvent.change(editor.getByLabelText('Owner'), { target: { value: 'platform' } })
  await watch(editor, 'too many jobs are waiting')
  expect(await editor.findByText('Found nothing to report in the last 14 days')).toBeTruthy()
  expect(editor.getByText(/^Incomplete:.*Recorded since /)).toBeTruthy()
  expect(previews()).toBe(before + 1)

  fireEvent.change(editor.getByLabelText('For at least'), { target: { value: '5' } })
  expect(await editor.findByText('Correct the marked fields to preview the rule.')).toBeTruthy()
})

it('says why a rule could not be tried, and tries again', async () => {
  const editor = await openEditor()
  const busy = new ScrapdeckError('TOO_MANY_REQUESTS', 'Others try rules now. Try again in a minute')
  engine.failures.set('alertRules.preview', busy)
  await watch(editor, 'a node does not respond')
  fireEvent.click(editor.getByRole('button', { name: 'Preview on past data' }))
  const problem = within(await editor.findByRole('alert'))
  expect(problem.getByText('Could not preview the rule: Others try rules now. Try again in a minute')).toBeTruthy()
  engine.failures.clear()
  fireEvent.click(problem.getByRole('button', { name: 'Retry' }))
  await waitFor(() => expect(editor.getByText('Would have fired at least 3 times in the last 14 days')).toBeTruthy())
})
