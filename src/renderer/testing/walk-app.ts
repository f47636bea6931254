import { vi } from 'vitest'
import { mapAnswers } from '../api/in-language.ts'
import { bareTexts, createData } from './bare-texts.ts'
import type { Client } from '../api/wire.ts'
import { renderApp } from './render-app.tsx'

/** Opens screens of the app one after the other, and collects bare texts with the place where each was first seen. */
export function walkApp(engine: { client: Client; stop(): void }) {
  const data = createData()
  const client = mapAnswers(engine.client, (answer) => {
    data.read(answer)
    return answer
  })
  const app = renderApp({ client, stop: () => engine.stop() })
  const found: Record<string, string> = {}
  const look = (where: string) => {
    for (const text of bareTexts(document.body, data)) found[text] ??= where
  }
  async function settle() {
    const isBusy = () => app.router.state.status !== 'idle' || app.queryClient.isFetching() > 0
    await new Promise((resolve) => setTimeout(resolve, 10))
    await vi.waitUntil(() => !isBusy(), { timeout: 10_000, interval: 5 })
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  async function open(address: string) {
    app.router.history.push(address)
    await settle()
    look(address)
  }
  async function click(element: HTMLElement, where: string) {
    element.click()
    await settle()
    look(where)
  }
  const screens = Object.keys(app.router.routesByPath).filter((path) => !path.includes('$'))
  return { app, found, screens, open, click, settle }
}
