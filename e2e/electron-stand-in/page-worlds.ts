import { decodeClone, encodeClone } from './clone-codec.ts'

export const PRELOAD_WORLD = 'stand-in preload'
export const TO_MAIN_BINDING = 'standInToMain'

// The worlds share the window's event targets but no objects. They exchange text in events and clone each value, as
// Electron's contextBridge does.
const BRIDGE = 'stand-in-bridge'

/** Runs in the isolated world before any script of the page. Provides a sandboxed preload's `require`. */
export function preloadWorldSource(preloadBundle: string): string {
  return `(() => {
    if (window !== window.top) return
    ${encodeClone}
    ${decodeClone}
    const electron = (${createPreloadElectron})(${JSON.stringify(BRIDGE)}, ${JSON.stringify(TO_MAIN_BINDING)})
    const require = (name) => {
      if (name === 'electron') return electron
      throw new Error('A sandboxed preload cannot require ' + name)
    }
    const process = { platform: ${JSON.stringify(process.platform)}, sandboxed: true, contextIsolated: true, type: 'renderer' }
    ;((require, process, module, exports) => {${preloadBundle}
    })(require, process, { exports: {} }, {})
  })()`
}

/** Runs in the page's own world before its scripts. Exposes only what the preload exposed. */
export function pageWorldSource(): string {
  return `(() => {
    if (window !== window.top) return
    ${encodeClone}
    ${decodeClone}
    ;(${exposeInPage})(${JSON.stringify(BRIDGE)})
  })()`
}

function createPreloadElectron(bridge: string, binding: string) {
  const toMain = (message: object) =>
    (globalThis as unknown as Record<string, (text: string) => void>)[binding]?.(JSON.stringify(message))
  const listeners = new Map<string, ((event: object, ...rest: unknown[]) => void)[]>()
  const ports = new Map<number, MessagePort>()
  const functions: ((...values: unknown[]) => unknown)[] = []
  const exposed: Record<string, unknown> = {}

  function adoptPort(id: number): MessagePort {
    const { port1, port2 } = new MessageChannel()
    ports.set(id, port1)
    port1.onmessage = (event) => toMain({ kind: 'port', id, data: encodeClone(event.data) })
    port1.addEventListener('close', () => toMain({ kind: 'port-closed', id }))
    return port2
  }

  // The main process calls this function through the debugging protocol. The page's world cannot reach it.
  Object.assign(globalThis, {
    standInFromMain(message: { kind: string; id: number; ids: number[]; channel: string; data: unknown }) {
      if (message.kind === 'port') ports.get(message.id)?.postMessage(decodeClone(message.data))
      if (message.kind === 'port-closed') ports.get(message.id)?.close()
      if (message.kind === 'ipc') {
        const event = { ports: message.ids.map(adoptPort) }
        for (const listener of listeners.get(message.channel) ?? []) listener(event, decodeClone(message.data))
      }
    }
  })

  const describe = (value: unknown): unknown => {
    if (typeof value === 'function') return { function: functions.push(value as () => unknown) - 1 }
    if (value !== null && typeof value === 'object') {
      return { object: Object.entries(value).map(([key, entry]) => [key, describe(entry)]) }
    }
    return { value: encodeClone(value) }
  }
  const tellPage = () => window.dispatchEvent(new CustomEvent(`${bridge}:exposed`, { detail: JSON.stringify(exposed) }))
  window.addEventListener(`${bridge}:hello`, tellPage)
  window.addEventListener(`${bridge}:call`, (event) => {
    const { id, values } = JSON.parse((event as CustomEvent<string>).detail) as { id: number; values: unknown[] }
    const result = functions[id]?.(...values.map(decodeClone))
    const detail = JSON.stringify(encodeClone(structuredClone(result)))
    window.dispatchEvent(new CustomEvent(`${bridge}:result`, { detail }))
  })

  return {
    contextBridge: {
      exposeInMainWorld(key: string, api: object) {
        exposed[key] = describe(api)
        tellPage()
      }
    },
    ipcRenderer: {
      on(channel: string, listener: (event: object) => void) {
        listeners.set(channel, [...(listeners.get(channel) ?? []), listener])
      },
      send(channel: string, ...values: unknown[]) {
        toMain({ kind: 'ipc', channel, values: values.map((value) => encodeClone(structuredClone(value))) })
      }
    }
  }
}

function exposeInPage(bridge: string) {
  type Description = { function: number } | { object: [string, Description][] } | { value: unknown }
  const build = (description: Description): unknown => {
    if ('object' in description) {
      return Object.freeze(Object.fromEntries(description.object.map(([key, entry]) => [key, build(entry)])))
    }
    return 'function' in description
      ? (...values: unknown[]) => call(description.function, values)
      : decodeClone(description.value)
  }
  const call = (id: number, values: unknown[]): unknown => {
    let result: unknown
    const onResult = (event: Event) => {
      result = decodeClone(JSON.parse((event as CustomEvent<string>).detail))
    }
    window.addEventListener(`${bridge}:result`, onResult, { once: true })
    const detail = JSON.stringify({ id, values: values.map((value) => encodeClone(structuredClone(value))) })
    window.dispatchEvent(new CustomEvent(`${bridge}:call`, { detail }))
    return result
  }
  window.addEventListener(`${bridge}:exposed`, (event) => {
    const exposed = JSON.parse((event as CustomEvent<string>).detail) as Record<string, Description>
    for (const [key, description] of Object.entries(exposed)) {
      if (!(key in window)) Object.defineProperty(window, key, { value: build(description), enumerable: true })
    }
  })
  window.dispatchEvent(new Event(`${bridge}:hello`))
}
