import { LOCAL_ENGINE } from '../../shared/wire.ts'
import { useRemoteEngines } from '../state/remote-engines.ts'
import { inLanguage } from './in-language.ts'
import { sleep } from './sleep.ts'
import { type DesktopClient, engineOfPage } from './wire.ts'

let desktop: DesktopClient | null = null

/** The desktop app's client, for operations that need no engine. Throws in a browser. */
export function desktopApp(): DesktopClient {
  if (desktop === null) throw new Error('Only the desktop has a list of engines')
  return desktop
}

const AGAIN_MS = 1_000

export async function followEngines(client: DesktopClient): Promise<never> {
  desktop = inLanguage(client)
  for (;;) {
    try {
      for await (const { appVersion, engines } of await desktop.engines.watch()) {
        const current = engines.find(({ id }) => id === engineOfPage()) ?? null
        // The engine was removed in another window, or the address is outdated.
        if (current === null && engineOfPage() !== LOCAL_ENGINE) openEngine(LOCAL_ENGINE)
        useRemoteEngines.setState({ engines, appVersion, current })
      }
    } catch (error) {
      console.warn('The list of engines was interrupted', error)
    }
    await sleep(AGAIN_MS, new AbortController().signal)
  }
}

/** Reloads the page for another engine, so that no data from the current engine stays visible. */
export function openEngine(id: string, view = '#/'): void {
  const url = new URL(id === LOCAL_ENGINE ? './' : `./?engine=${encodeURIComponent(id)}`, document.baseURI)
  url.hash = view
  window.location.assign(url.href)
}
