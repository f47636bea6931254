import { EventEmitter } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CDPSession, Page, Route } from '@playwright/test'
import { toAppUrl, toBrowserUrl } from './address.ts'
import { applyPermissions, isClosing, openChromium, openPage } from './chromium.ts'
import { decodeClone, encodeClone } from './clone-codec.ts'
import { MessagePortMain, ipcMain } from './ipc.ts'
import { PRELOAD_WORLD, TO_MAIN_BINDING, pageWorldSource, preloadWorldSource } from './page-worlds.ts'
import { userData } from './places.ts'

interface Rectangle {
  x: number
  y: number
  width: number
  height: number
}
interface WebPreferences {
  preload?: string
  [name: string]: unknown
}
interface WindowOptions extends Partial<Rectangle> {
  show?: boolean
  webPreferences?: WebPreferences
}
interface WindowOpenDetails {
  url: string
}
type FromPage =
  | { kind: 'ipc'; channel: string; values: unknown[] }
  | { kind: 'port'; id: number; data: unknown }
  | { kind: 'port-closed'; id: number }

class PreventableEvent {
  defaultPrevented = false
  preventDefault() {
    this.defaultPrevented = true
  }
}

/**
 * One document of the main frame. When the page navigates away, the document is gone, and with it the page's end of
 * every port.
 */
class WebFrameMain {
  readonly parent = null
  readonly url: string
  readonly #contents: WebContents
  readonly #contextId: number
  readonly #ports = new Map<number, { receiveFromPage(data: unknown): void; closedByPage(): void }>()

  constructor(contents: WebContents, contextId: number, url: string) {
    this.#contents = contents
    this.#contextId = contextId
    this.url = url
  }

  postMessage(channel: string, message: unknown, transfer: MessagePortMain[] = []) {
    const ids = transfer.map(() => nextPortId++)
    // The page must know the ports before their first messages arrive.
    this.#send({ kind: 'ipc', channel, ids, data: encodeClone(structuredClone(message)) })
    for (const [index, id] of ids.entries()) {
      const port = transfer[index]?.transferTo({
        post: (data) => this.#send({ kind: 'port', id, data: encodeClone(data) }),
        close: () => this.#send({ kind: 'port-closed', id })
      })
      if (port) this.#ports.set(id, port)
    }
  }

  receive(message: FromPage) {
    if (message.kind === 'port') this.#ports.get(message.id)?.receiveFromPage(decodeClone(message.data))
    if (message.kind === 'port-closed') this.#ports.get(message.id)?.closedByPage()
    if (message.kind === 'ipc') {
      ipcMain.emit(
        message.channel,
        { sender: this.#contents, senderFrame: this, ports: [] },
        ...message.values.map((value) => decodeClone(value))
      )
    }
  }

  gone() {
    for (const port of this.#ports.values()) port.closedByPage()
    this.#ports.clear()
  }

  #send(message: object) {
    void this.#contents.callPreloadWorld(this.#contextId, message)
  }
}

let nextPortId = 1

class WebContents extends EventEmitter {
  readonly #window: BrowserWindow
  readonly #webPreferences: WebPreferences
  readonly #page: Promise<Page>
  #session: CDPSession | null = null
  #frames = new Map<number, WebFrameMain>()
  #openHandler: (details: WindowOpenDetails) => { action: string } = () => ({ action: 'allow' })
  /** Set while the app itself loads a page, because Electron does not emit will-frame-navigate for those loads. */
  #loadingUrl: string | null = null

  constructor(window: BrowserWindow, webPreferences: WebPreferences) {
    super()
    this.#window = window
    this.#webPreferences = webPreferences
    this.#page = this.#open()
    this.#page.catch((error: unknown) => {
      if (isClosing) return
      console.error('The stand-in could not open a page:', error)
      process.exit(70)
    })
  }

  getLastWebPreferences = () => ({ ...this.#webPreferences })
  setWindowOpenHandler = (handler: (details: WindowOpenDetails) => { action: string }) =>
    void (this.#openHandler = handler)
  getURL = () => [...this.#frames.values()].at(-1)?.url ?? ''

  async loadURL(url: string): Promise<void> {
    const page = await this.#page
    const browserUrl = toBrowserUrl(url)
    if (this.#session) await applyPermissions(this.#session, browserUrl)
    this.#loadingUrl = browserUrl.split('#', 1)[0] ?? browserUrl
    try {
      await page.goto(browserUrl)
    } finally {
      this.#loadingUrl = null
    }
    this.#window.emit('ready-to-show')
    this.emit('did-finish-load')
  }

  /** Ends the page's process. Chromium then shows a page of its own, until the app loads another one. */
  forcefullyCrashRenderer() {
    void this.#session?.send('Page.crash').catch(() => {})
  }
  send(channel: string, ...values: unknown[]) {
    ;[...this.#frames.values()].at(-1)?.postMessage(channel, values[0])
  }

  async close() {
    for (const frame of this.#frames.values()) frame.gone()
    await (await this.#page).close()
  }

  async resize(width: number, height: number) {
    await (await this.#page).setViewportSize({ width, height })
  }

  async callPreloadWorld(contextId: number, message: object): Promise<void> {
    try {
      await this.#session?.send('Runtime.callFunctionOn', {
        functionDeclaration: '(message) => standInFromMain(message)',
        executionContextId: contextId,
        arguments: [{ value: message }]
      })
    } catch (error) {
      // The document was gone before the message arrived. Electron drops these messages too.
      if (this.#frames.has(contextId)) console.warn('A message did not reach its page:', (error as Error).message)
    }
  }

  async #open(): Promise<Page> {
    const context = await openChromium(join(userData, 'stand-in-chromium'))
    const page = await openPage(context)
    const session = await context.newCDPSession(page)
    this.#session = session
    const { frameTree } = await session.send('Page.getFrameTree')
    session.on('Runtime.executionContextCreated', ({ context: { id, name, auxData } }) => {
      if (name !== PRELOAD_WORLD || auxData?.frameId !== frameTree.frame.id) return
      this.#frames.set(id, new WebFrameMain(this, id, toAppUrl(page.url())))
    })
    session.on('Runtime.executionContextDestroyed', ({ executionContextId }) => this.#forget(executionContextId))
    session.on('Runtime.executionContextsCleared', () => {
      for (const id of [...this.#frames.keys()]) this.#forget(id)
    })
    session.on('Runtime.bindingCalled', ({ executionContextId, payload }) => {
      this.#frames.get(executionContextId)?.receive(JSON.parse(payload) as FromPage)
    })
    session.on('Page.windowOpen', ({ url }) => {
      // Closes the popup below. `window.open` returns a closed window here, but null in Electron.
      const { action } = this.#openHandler({ url: toAppUrl(url) })
      if (action !== 'deny') throw new Error('The stand-in has no windows opened by pages')
    })
    page.on('crash', () => {
      for (const id of [...this.#frames.keys()]) this.#forget(id)
      this.emit('render-process-gone', new PreventableEvent(), { reason: 'crashed' })
    })
    page.on('framenavigated', () => this.emit('did-navigate-in-page'))
    page.on('popup', (popup) => void popup.close())
    await session.send('Runtime.enable')
    await session.send('Page.enable')
    await page.route('**/*', (route) => this.#routeRequest(route))
    if (this.#webPreferences.preload) {
      if (!this.#webPreferences['contextIsolation'] || !this.#webPreferences['sandbox']) {
        throw new Error('The stand-in runs preloads only isolated and sandboxed')
      }
      await session.send('Runtime.addBinding', { name: TO_MAIN_BINDING, executionContextName: PRELOAD_WORLD })
      const bundle = readFileSync(this.#webPreferences.preload, 'utf8')
      await session.send('Page.addScriptToEvaluateOnNewDocument', { source: pageWorldSource() })
      await session.send('Page.addScriptToEvaluateOnNewDocument', {
        source: preloadWorldSource(bundle),
        worldName: PRELOAD_WORLD
      })
    }
    return page
  }

  async #routeRequest(route: Route) {
    const request = route.request()
    if (!request.isNavigationRequest()) return route.fallback()
    const url = request.url()
    const isMainFrame = request.frame().parentFrame() === null
    if (!isMainFrame || url !== this.#loadingUrl) {
      const event = Object.assign(new PreventableEvent(), { url: toAppUrl(url), isMainFrame })
      this.emit('will-frame-navigate', event)
      if (event.defaultPrevented) return route.abort('aborted')
    }
    return route.fallback()
  }

  #forget(contextId: number) {
    this.#frames.get(contextId)?.gone()
    this.#frames.delete(contextId)
  }
}

export class BrowserWindow extends EventEmitter {
  static #all: BrowserWindow[] = []
  static #focused: BrowserWindow | null = null
  static #onCreated: (window: BrowserWindow) => void = () => {}

  static getAllWindows = () => [...BrowserWindow.#all]
  static getFocusedWindow = () => BrowserWindow.#focused
  static onCreated(listener: (window: BrowserWindow) => void) {
    BrowserWindow.#onCreated = listener
  }

  readonly webContents: WebContents
  #bounds: Rectangle
  #isVisible: boolean
  #isMaximized = false
  #isMinimized = false
  #isFullScreen = false
  #isDestroyed = false

  constructor(options: WindowOptions = {}) {
    super()
    const { x = 0, y = 0, width = 800, height = 600 } = options
    this.#bounds = { x, y, width, height }
    this.#isVisible = options.show ?? true
    this.webContents = new WebContents(this, options.webPreferences ?? {})
    void this.webContents.resize(width, height)
    BrowserWindow.#all.push(this)
    BrowserWindow.#onCreated(this)
  }

  loadURL = (url: string) => this.webContents.loadURL(url)
  isDestroyed = () => this.#isDestroyed
  isVisible = () => this.#isVisible
  isMinimized = () => this.#isMinimized
  isMaximized = () => this.#isMaximized
  isFullScreen = () => this.#isFullScreen
  isFocused = () => BrowserWindow.#focused === this
  getBounds = () => ({ ...this.#bounds })
  getNormalBounds = () => ({ ...this.#bounds })

  setBounds(bounds: Partial<Rectangle>) {
    this.#bounds = { ...this.#bounds, ...bounds }
    void this.webContents.resize(this.#bounds.width, this.#bounds.height)
    this.emit('resize')
    this.emit('move')
  }
  maximize() {
    this.#isMaximized = true
    this.emit('resize')
  }
  setFullScreen(isFullScreen: boolean) {
    this.#isFullScreen = isFullScreen
    this.emit(isFullScreen ? 'enter-full-screen' : 'leave-full-screen')
  }
  minimize() {
    this.#isMinimized = true
    this.blur()
  }
  restore() {
    this.#isMinimized = false
  }
  show() {
    this.#isVisible = true
    this.focus()
  }
  blur() {
    if (BrowserWindow.#focused === this) BrowserWindow.#focused = null
  }
  focus() {
    BrowserWindow.#focused = this
  }

  close() {
    if (this.#isDestroyed) return
    const event = new PreventableEvent()
    this.emit('close', event)
    if (!event.defaultPrevented) this.destroy()
  }
  destroy() {
    this.#isDestroyed = true
    this.blur()
    BrowserWindow.#all = BrowserWindow.#all.filter((window) => window !== this)
    this.webContents.close().catch((error: Error) => console.warn('A page did not close:', error.message))
    this.emit('closed')
  }
}
