import { fireEvent, screen, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { openRealEngine, type RealEngine } from '../testing/real-engine.ts'
import { renderApp } from '../testing/render-app.tsx'

let engine: RealEngine
let app: ReturnType<typeof renderApp>
let shown: { title: string; body: string | undefined }[]
let answer: NotificationPermission

beforeEach(async () => {
  shown = []
  answer = 'default'
  class FakeNotification {
    static get permission() {
      return answer
    }
    static requestPermission = async () => (answer = 'granted')
    constructor(title: string, { body }: NotificationOptions = {}) {
      shown.push({ title, body })
    }
  }
  vi.stubGlobal('Notification', FakeNotification)
  vi.stubGlobal('isSecureContext', true)
  engine = await openRealEngine()
  app = renderApp(engine)
})
afterEach(() => {
  app.stop()
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

async function tell() {
  const { channel } = await engine.client.alertChannels.create({ name: 'desk', target: { kind: 'desktop' } })
  await engine.client.alertChannels.test({ id: channel.id })
}

it('a visible page shows the notices of desktop channels, with a link to the alerts', async () => {
  await screen.findByRole('heading', { name: 'Overview' })
  await tell()
  expect(await screen.findByText(/^Test: Scrapdeck\. This is a test message/)).toBeTruthy()
  fireEvent.click(screen.getByRole('button', { name: 'Open' }))
  await waitFor(() => expect(app.router.state.location.pathname).toBe('/alerts'))
  expect(shown).toEqual([])
})

it('a user who has allowed it in the bell gets a notification while the page is hidden', async () => {
  fireEvent.click(await screen.findByRole('button', { name: /^Alerts:/ }))
  fireEvent.click(await screen.findByRole('button', { name: 'Notify me in this browser' }))
  await waitFor(() => expect(screen.queryByRole('button', { name: 'Notify me in this browser' })).toBeNull())
  vi.spyOn(document, 'visibilityState', 'get').mockReturnValue('hidden')
  await tell()
  await waitFor(() => expect(shown).toMatchObject([{ title: 'Test: Scrapdeck' }]))
})
