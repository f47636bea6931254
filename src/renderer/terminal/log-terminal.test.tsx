import { cleanup, configure, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { createFakeEngine } from '../testing/fake-engine.ts'
import { renderBare } from '../testing/render-app.tsx'
import { LogTerminal } from './log-terminal.tsx'
import { outliveTerminals, stubCanvas } from '../testing/stub-canvas.ts'

configure({ asyncUtilTimeout: 8000 })

beforeEach(stubCanvas)
afterEach(cleanup)
afterAll(outliveTerminals)

interface Over {
  failure?: Error
  line?: { from: number; to: number }
  isCut?: boolean
}

function openLog(status: 'succeeded' | 'queued', over: Over = {}) {
  const engine = createFakeEngine({ jobCount: 60 })
  const job = [...engine.jobs.values()].find((each) => each.status === status)
  if (job === undefined) throw new Error(`the fake fleet has no ${status} job`)
  if (over.failure !== undefined) {
    engine.failures.set('logs.tail', over.failure)
    engine.failures.set('logs.locate', over.failure)
  }
  const view = renderBare(
    <LogTerminal
      client={engine.client}
      jobId={job.id}
      title="shop/prices"
      fileName="a.log"
      waitingText="It waits for a slot."
      hasKeys={false}
      line={over.line}
      isCut={over.isCut === true}
      addressOf={({ from, to }) => `/logs?line=${from}-${to}`}
    />
  )
  return { engine, job, view }
}

const log = () => within(screen.getByTestId('log'))

it('exposes the log with its name, levels and last lines as text', async () => {
  openLog('succeeded')
  expect(screen.getByRole('region', { name: 'Log of shop/prices' })).toBeTruthy()
  await waitFor(() => expect(log().getByRole('log').textContent).toMatch(/KeyError: 'offerPrice'|Crawled \(200\)/))
  expect(log().getByRole('button', { name: /^ERROR/ }).textContent).toMatch(/ERROR [1-9]/)
  expect(await log().findByText('complete')).toBeTruthy()
})

it('calls a log incomplete if its node lost the rest', async () => {
  openLog('succeeded', { isCut: true })
  expect(await log().findByText(/incomplete: only the copied part is kept/)).toBeTruthy()
  expect(log().queryByText('complete')).toBeNull()
})

it('hides a level, and shows only one level', async () => {
  openLog('succeeded')
  await waitFor(() => expect(log().getByRole('log').textContent).toContain('DEBUG'))
  fireEvent.click(log().getByRole('button', { name: /^DEBUG/ }))
  await waitFor(() => expect(log().getByRole('log').textContent).not.toContain('DEBUG'))
  expect(log().getByRole('log').textContent).toContain('INFO')
  fireEvent.click(log().getByRole('button', { name: /^ERROR/ }), { shiftKey: true })
  await waitFor(() => expect(log().getByRole('log').textContent).not.toContain('INFO'))
  expect(log().getByRole('log').textContent).toContain('Traceback (most recent call last):')
})

it('says what a log without lines waits for, or why there is none', async () => {
  const { view } = openLog('queued')
  expect(await log().findByText('It waits for a slot.')).toBeTruthy()
  view.unmount()
  openLog('queued', {
    failure: Object.assign(new Error('The node has no log of this run any more.'), { code: 'LOG_NOT_FOUND' })
  })
  expect((await log().findByRole('alert')).textContent).toContain('The node has no log of this run any more.')
})

it('goes to a line by its number and marks it, and says why a time cannot be found', async () => {
  const { engine } = openLog('succeeded')
  const field = async () => screen.findByLabelText('Go to a line or a time')
  const goTo = async (wanted: string) => {
    fireEvent.change(await field(), { target: { value: wanted } })
    fireEvent.submit(await field())
  }
  fireEvent.click(await log().findByRole('button', { name: /^(Line|Go to)/ }))
  engine.failures.set('logs.locate', Object.assign(new Error('noon is not a time.'), { code: 'BAD_INPUT' }))
  await goTo('noon')
  expect(await screen.findByText(/noon is not a time/)).toBeTruthy()
  engine.failures.delete('logs.locate')
  await goTo('3-4')
  expect(await log().findByRole('button', { name: 'Copy a link to lines 3 to 4' })).toBeTruthy()
  await waitFor(() => expect(screen.queryByLabelText('Go to a line or a time')).toBeNull())
})

it('says why it cannot go to the line in its address, and shows what it has', async () => {
  const failure = Object.assign(new Error('The node has no log of this run any more.'), { code: 'LOG_NOT_FOUND' })
  openLog('succeeded', { failure, line: { from: 3, to: 3 } })
  expect((await log().findByRole('alert')).textContent).toContain('The node has no log of this run any more.')
})

it('stops when it is unmounted', async () => {
  const { view } = openLog('succeeded')
  await waitFor(() => expect(log().getByRole('log').textContent).not.toBe(''))
  view.unmount()
  expect(screen.queryByTestId('log')).toBeNull()
})
