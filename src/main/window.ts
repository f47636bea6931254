import {
  BrowserWindow,
  Menu,
  type MessageBoxOptions,
  app,
  clipboard,
  dialog,
  nativeTheme,
  screen,
  session,
  shell
} from 'electron'
import { backoffMs } from '../engine/runtime/backoff.ts'
import { texts } from '../shared/texts/ui/desktop.ts'
import { APP_URL, isAppUrl } from './app-url.ts'
import { contextItems } from './context-menu.ts'
import { MINIMUM_SIZE, createWindowStateWriter, placeToSave, placeWindow, readWindowState } from './window-state.ts'

interface MainWindowOptions {
  preloadPath: string
  statePath: string
  iconPath: string
  /** Called when the page's process has ended unexpectedly. The page is reloaded by itself. */
  onPageGone(reason: string): void
  /** Shown once, over the first window. */
  notice: { message: string; detail: string } | null
  /** Windows ends the session. */
  onSessionEnd(): void
}

export interface MainWindow {
  /** Shows the window, creating it if necessary. With a view (`#/jobs?…`), navigates there. */
  open(view?: string): void
  /** Sends a command of the menu to the page. Without a window, only opens one: its page runs no commands yet. */
  send(channel: string, command: string): void
  /** Resolves after the window's position is on disk. */
  flush(): Promise<void>
}

/** Moves of a new window in this time come from the window manager, which adds a frame. */
const SETTLED_AFTER_MS = 1_000
/** The page's background before its first paint (theme.css). */
const BACKGROUND = { dark: '#0e1115', light: '#f4f6f8' }
const RELOAD_FIRST_MS = 500
const RELOAD_MAX_MS = 30_000
/** A page that lived this long is not broken, so the next reload is quick again. */
const LIVED_MS = 60_000

const WAIT = 0
const RELOAD = 1

/** The only window. Closing it frees its renderer. The engine continues behind the tray. */
export function createMainWindow(options: MainWindowOptions): MainWindow {
  const { preloadPath, statePath, iconPath } = options
  const writer = createWindowStateWriter(statePath)
  let { notice } = options
  let window: BrowserWindow | null = null

  function open(view = '') {
    if (!window) {
      window = openWindow(view)
      return
    }
    if (view) load(window, view)
    if (window.isMinimized()) window.restore()
    window.show()
    window.focus()
  }

  function openWindow(view: string): BrowserWindow {
    const place = placeWindow(
      readWindowState(statePath),
      screen.getAllDisplays().map((display) => display.workArea)
    )
    const opened = new BrowserWindow({
      x: place.x,
      y: place.y,
      width: place.width,
      height: place.height,
      minWidth: MINIMUM_SIZE.width,
      minHeight: MINIMUM_SIZE.height,
      title: texts.scrapdeck,
      icon: iconPath,
      show: false,
      autoHideMenuBar: true,
      backgroundColor: nativeTheme.shouldUseDarkColors ? BACKGROUND.dark : BACKGROUND.light,
      webPreferences: {
        preload: preloadPath,
        sandbox: true,
        contextIsolation: true,
        nodeIntegration: false,
        webSecurity: true,
        webviewTag: false,
        spellcheck: false
      }
    })
    let shown = opened.getNormalBounds()
    let isSettled = false
    opened.once('ready-to-show', () => {
      opened.show()
      // Only after it is shown. Earlier, Linux would also show an empty window.
      if (place.maximized) opened.maximize()
      if (place.fullScreen) opened.setFullScreen(true)
      setTimeout(() => (isSettled = true), SETTLED_AFTER_MS)
      if (notice !== null) void showOver(opened, { type: 'warning', title: texts.scrapdeck, ...notice })
      notice = null
    })
    const save = () => {
      if (opened.isDestroyed()) return
      const bounds = opened.getNormalBounds()
      if (!isSettled && bounds.width === shown.width && bounds.height === shown.height) shown = bounds
      writer.save({
        ...placeToSave(bounds, shown, place),
        maximized: opened.isMaximized(),
        fullScreen: opened.isFullScreen(),
        view: viewOf(opened)
      })
    }
    for (const changed of ['resize', 'move', 'close', 'enter-full-screen', 'leave-full-screen'] as const)
      opened.on(changed as 'resize', save)
    opened.webContents.on('did-navigate', save)
    opened.webContents.on('did-navigate-in-page', save)
    opened.on('closed', () => {
      window = null
      void writer.flush()
    })
    opened.on('session-end', options.onSessionEnd)
    opened.webContents.on('context-menu', (_event, params) => {
      const items = contextItems(params, (url) => void copy(url))
      if (items.length > 0) Menu.buildFromTemplate(items).popup({ window: opened, x: params.x, y: params.y })
    })
    keepAlive(opened, options.onPageGone)
    load(opened, view || place.view)
    return opened
  }

  return {
    open,
    send(channel, command) {
      open()
      window?.webContents.send(channel, command)
    },
    flush: () => writer.flush()
  }
}

const viewOf = ({ webContents }: BrowserWindow): string => {
  const url = webContents.getURL()
  return isAppUrl(url) ? url.slice(APP_URL.length) : ''
}

/** Reloads the page when its process ends, and offers to when it hangs. Otherwise, the window would stay dead. */
function keepAlive(window: BrowserWindow, onGone: (reason: string) => void): void {
  const { webContents } = window
  let failures = 0
  let loadedAtMs = performance.now()
  let question: AbortController | null = null
  webContents.on('did-finish-load', () => (loadedAtMs = performance.now()))
  webContents.on('render-process-gone', (_event, { reason }) => {
    question?.abort()
    if (reason === 'clean-exit' || window.isDestroyed()) return
    failures = performance.now() - loadedAtMs > LIVED_MS ? 1 : failures + 1
    console.error(`The process of the page ended (${reason}). The page is reloaded.`)
    onGone(reason)
    const view = viewOf(window)
    setTimeout(
      () => {
        if (!window.isDestroyed()) load(window, view)
      },
      backoffMs(failures, RELOAD_FIRST_MS, RELOAD_MAX_MS)
    )
  })
  window.on('responsive', () => question?.abort())
  window.on('unresponsive', () => void askToReload())

  async function askToReload(): Promise<void> {
    if (question !== null) return
    question = new AbortController()
    const response = await showOver(window, {
      type: 'warning',
      message: texts.unresponsive,
      detail: texts.unresponsiveHint,
      buttons: [texts.wait, texts.reload],
      defaultId: WAIT,
      cancelId: WAIT,
      noLink: true,
      signal: question.signal
    })
    question = null
    // A hung page cannot be reloaded, but its process can be ended, which reloads it.
    if (response === RELOAD && !window.isDestroyed()) webContents.forcefullyCrashRenderer()
  }
}

/** Resolves to the chosen button. A window that is closed while it asks counts as the first one. */
async function showOver(window: BrowserWindow, options: MessageBoxOptions): Promise<number> {
  try {
    return (await dialog.showMessageBox(window, options)).response
  } catch (error) {
    console.warn('A message was not shown to its end:', error)
    return 0
  }
}

async function copy(text: string): Promise<void> {
  try {
    await clipboard.writeText(text)
  } catch (error) {
    console.warn('The link could not be copied:', error)
  }
}
/** No page can open windows, leave our origin or embed another page. Web links open in the browser. */
export function lockDownPages(): void {
  app.on('web-contents-created', (_event, contents) => {
    contents.setWindowOpenHandler(({ url }) => {
      openInBrowser(url)
      return { action: 'deny' }
    })
    contents.on('will-frame-navigate', (event) => {
      if (!event.isMainFrame || !isAppUrl(event.url)) event.preventDefault()
    })
    contents.on('will-redirect', (event) => {
      if (!isAppUrl(event.url)) event.preventDefault()
    })
    contents.on('will-attach-webview', (event) => event.preventDefault())
  })
}

/** Pages can copy to the clipboard after a click. All other permissions are denied. */
export function denyPermissions(): void {
  const isAllowed = (permission: string, url: string) => permission === 'clipboard-sanitized-write' && isAppUrl(url)
  session.defaultSession.setPermissionRequestHandler((_contents, permission, callback, details) =>
    callback(isAllowed(permission, details.requestingUrl))
  )
  session.defaultSession.setPermissionCheckHandler((_contents, permission, origin, details) =>
    isAllowed(permission, details.requestingUrl ?? `${origin}/`)
  )
  session.defaultSession.setDevicePermissionHandler(() => false)
}

function load(window: BrowserWindow, view: string): void {
  window.loadURL(APP_URL + view).catch((error: Error) => {
    // A second load aborts the first one, which is not a failure.
    if (!error.message.includes('ERR_ABORTED')) console.error('The window could not load the UI:', error)
  })
}

/** Opens only web addresses without credentials, because any other scheme could start a program. */
export function openInBrowser(link: string): void {
  const url = URL.canParse(link) ? new URL(link) : null
  const isWebAddress = url !== null && (url.protocol === 'https:' || url.protocol === 'http:')
  if (!isWebAddress || url.username || url.password) return
  shell
    .openExternal(url.href)
    .catch((error: unknown) => console.warn('The link could not be opened in a browser:', error))
}
