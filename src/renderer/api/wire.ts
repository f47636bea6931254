import { type ClientContext, type ClientLink, type ClientOptions, createORPCClient } from '@orpc/client'
import { RPCLink as FetchLink } from '@orpc/client/fetch'
import { RPCLink as PortLink } from '@orpc/client/message-port'
import type { ContractRouterClient } from '@orpc/contract'
import type { Contract } from '../../shared/contract/index.ts'
import type { desktopContract } from '../../shared/desktop/contract.ts'
import { DESKTOP_APP, LOCAL_ENGINE, wireMessage } from '../../shared/wire.ts'
import { openLogin } from './browser-session.ts'
import { sleep } from './sleep.ts'

export type Client = ContractRouterClient<Contract>
export type DesktopClient = ContractRouterClient<typeof desktopContract>

/** What the desktop's preload script exposes: only a way to request a port to an engine. */
export interface DesktopBridge {
  requestWire(to: string): void
  platform: string
}

declare global {
  interface Window {
    scrapdeck?: DesktopBridge
  }
}

/**
 * The engine that this page shows in the desktop. A page never switches engines, because it could then show data from
 * one engine in the view of another.
 */
export const engineOfPage = (): string => new URLSearchParams(window.location.search).get('engine') ?? LOCAL_ENGINE

/** Connects over a MessagePort in the desktop, or over HTTP relative to `/ui/` in a browser. */
export async function connectWire(): Promise<Client> {
  if (window.scrapdeck) {
    return createORPCClient(await openWire(window.scrapdeck, engineOfPage()))
  }
  // A call made while the page closes must outlive the page.
  let isLeaving = false
  window.addEventListener('pagehide', () => (isLeaving = true), { capture: true })
  window.addEventListener('pageshow', () => (isLeaving = false))
  return createORPCClient(
    new FetchLink({
      url: new URL('../api/rpc', document.baseURI).href,
      fetch: async (request, init) => {
        const response = await fetch(request, { ...init, credentials: 'same-origin', keepalive: isLeaving })
        if (response.status === 401) openLogin()
        return response
      }
    })
  )
}

export async function connectDesktop(): Promise<DesktopClient | null> {
  if (!window.scrapdeck) return null
  return createORPCClient(await openWire(window.scrapdeck, DESKTOP_APP))
}

const REOPEN_FIRST_MS = 200
const REOPEN_MAX_MS = 10_000
const NEVER = new AbortController().signal

/** Opens a wire, which is requested again when it closes. Calls in flight then reject; later ones wait for it. */
async function openWire(bridge: DesktopBridge, to: string): Promise<ClientLink<ClientContext>> {
  let delayMs = REOPEN_FIRST_MS
  let link = open()

  async function open(): Promise<ClientLink<ClientContext>> {
    const port = await receivePort(bridge, to)
    const opened = new PortLink({ port })
    port.addEventListener('message', () => (delayMs = REOPEN_FIRST_MS), { once: true })
    port.addEventListener('close', () => {
      link = sleep(delayMs, NEVER).then(open)
      delayMs = Math.min(delayMs * 2, REOPEN_MAX_MS)
    })
    port.start()
    return opened
  }

  await link
  return {
    call: async (path, input, options: ClientOptions<ClientContext>) => (await link).call(path, input, options)
  }
}

function receivePort(bridge: DesktopBridge, to: string): Promise<MessagePort> {
  return new Promise((resolve) => {
    const onMessage = (event: MessageEvent) => {
      // Trust only this window, not frames or other windows. Before this code, only our preload script runs in it.
      const port = event.ports[0]
      if (event.source !== window || event.data !== wireMessage(to) || port === undefined) return
      window.removeEventListener('message', onMessage)
      resolve(port)
    }
    window.addEventListener('message', onMessage)
    bridge.requestWire(to)
  })
}
