import { configure, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterEach, expect, it } from 'vitest'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { createFakeEngine, type FakeEngine } from '../../testing/fake-engine.ts'
import { renderApp } from '../../testing/render-app.tsx'

configure({ asyncUtilTimeout: 8000 })

let engine: FakeEngine
let app: ReturnType<typeof renderApp>
afterEach(() => app.stop())

async function openEditor(client: (engine: FakeEngine) => FakeEngine['client'] = ({ client }) => client) {
  engine = createFakeEngine({ jobCount: 60 })
  app = renderApp({ ...engine, client: client(engine) }, '/alerts/rules')
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
  expect(await editor.findByText('Would have fired 4 times in the last 14 days')).toBeTruthy()
  const rows = within(editor.getByRole('table', { name: 'When it would have fired' })).getAllByRole('row')
  expect(rows).toHaveLength(4)
  expect(rows.some(({ textContent }) => /us-2.*ECONNREFUSED.*still firing/.test(textContent ?? ''))).toBe(true)
  expect(rows.some(({ textContent }) => /ap-2.*for \d+ min/.test(textContent ?? ''))).toBe(true)

  const before = previews()
  fireEvent.change(editor.getByLabelText('Owner'), { target: { value: 'platform' } })
  await watch(editor, 'too many jobs are waiting')
  expect(await editor.findByText('Found nothing to report in the last 14 days')).toBeTruthy()
  expect(editor.getByText(/^Incomplete:.*Nothing has been recorded yet\.$/)).toBeTruthy()
  expect(previews()).toBe(before + 1)

  fireEvent.change(editor.getByLabelText('For at least'), { target: { value: '5' } })
  expect(await editor.findByText('Correct the marked fields to preview the rule.')).toBeTruthy()
})

it('says why a rule could not be tried, and tries again', async () => {
  let isBusy = true
  const editor = await openEditor(({ client }) =>
    replaced(client, 'alertRules', (rules) =>
      replaced(
        rules,
        'preview',
        (preview) =>
          // oxlint-disable-next-line typescript/no-explicit-any -- passed on as it is.
          Object.assign((...of: any[]) => {
            if (isBusy) throw new ScrapdeckError('TOO_MANY_REQUESTS', 'Others try rules now. Try again in a minute')
            return (preview as (...of: unknown[]) => unknown)(...of)
          }) as never
      )
    )
  )
  await watch(editor, 'a node does not respond')
  fireEvent.click(editor.getByRole('button', { name: 'Preview on past data' }))
  const problem = within(await editor.findByRole('alert'))
  expect(problem.getByText('Could not preview the rule: Others try rules now. Try again in a minute')).toBeTruthy()
  isBusy = false
  fireEvent.click(problem.getByRole('button', { name: 'Retry' }))
  await waitFor(() => expect(editor.getByText('Would have fired 4 times in the last 14 days')).toBeTruthy())
})

/** Needed because the client is a proxy and cannot be copied. */
const replaced = <Of extends object, Name extends keyof Of>(of: Of, name: Name, by: (was: Of[Name]) => Of[Name]): Of =>
  new Proxy(of, { get: (target, key) => (key === name ? by(target[name]) : Reflect.get(target, key)) })
