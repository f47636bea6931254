import { BrowserWindow, app, screen, session, shell } from 'electron'
import { APP_URL, isAppUrl } from './app-url.ts'
import { MINIMUM_SIZE, createWindowStateWriter, placeWindow, readWindowState } from './window-state.ts'
import { texts } from '../shared/texts/ui/desktop.ts'

interface MainWindowOptions {
  preloadPath: string
  statePath: string
  iconPath: string
}

export interface MainWindow {
  /** Shows the window, creating it if necessary. With a view (`#/jobs?…`), navigates there. */
  open(view?: string): void
  /** Resolves after the window's position is on disk. */
  flush(): Promise<void>
}

/** The only window. Closing it frees its renderer. The engine continues behind the tray. */
export function createMainWindow({ preloadPath, statePath, iconPath }: MainWindowOptions): MainWindow {
  const writer = createWindowStateWriter(statePath)
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
    if (place.maximized) opened.maximize()
    opened.once('ready-to-show', () => opened.show())
    const save = () => writer.save({ ...opened.getNormalBounds(), maximized: opened.isMaximized() })
    opened.on('resize', save)
    opened.on('move', save)
    opened.on('close', save)
    opened.on('closed', () => {
      window = null
      void writer.flush()
    })
    load(opened, view)
    return opened
  }

  return { open, flush: () => writer.flush() }
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
