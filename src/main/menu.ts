import { app, Menu, type MenuItemConstructorOptions } from 'electron'
import { SCREENS } from '../shared/screens.ts'
import { texts } from '../shared/texts/ui/desktop.ts'

interface MenuActions {
  open(view?: string): void
  /** Runs the page's binding of this key (state/keys.ts). */
  send(key: string): void
  openLogs(): void
}

const SEPARATOR = { type: 'separator' } as const

/**
 * The menu bar has the app's screens and the commands that work on each of them. Reload has no key of its own: Ctrl+R
 * would discard what the user has typed.
 */
export function installMenu(actions: MenuActions): void {
  const isMac = process.platform === 'darwin'
  const about = { role: 'about', label: texts.about } as const
  const settings = {
    label: texts.settingsMenu,
    accelerator: 'CmdOrCtrl+,',
    click: () => actions.open('#/settings')
  }
  /** The page handles the key itself; the menu only shows it. */
  const command = (label: string, key: string, accelerator?: string): MenuItemConstructorOptions => ({
    label,
    click: () => actions.send(key),
    ...(accelerator !== undefined && { accelerator, registerAccelerator: false })
  })
  const ofApp: MenuItemConstructorOptions = {
    label: texts.scrapdeck,
    submenu: [
      about,
      SEPARATOR,
      settings,
      SEPARATOR,
      { role: 'services' },
      SEPARATOR,
      { role: 'hide' },
      { role: 'hideOthers' },
      { role: 'unhide' },
      SEPARATOR,
      { role: 'quit' }
    ]
  }
  const file: MenuItemConstructorOptions = {
    label: texts.fileMenu,
    submenu: [
      { label: texts.openScrapdeck, accelerator: 'CmdOrCtrl+O', click: () => actions.open() },
      ...(isMac ? [] : [settings]),
      SEPARATOR,
      { role: 'close' },
      ...(isMac ? [] : [{ role: 'quit' } as const])
    ]
  }
  const view: MenuItemConstructorOptions = {
    label: texts.viewMenu,
    submenu: [
      { label: texts.reload, accelerator: 'CmdOrCtrl+Shift+R', role: 'reload' },
      ...(app.isPackaged ? [] : [{ role: 'toggleDevTools' } as const]),
      SEPARATOR,
      { role: 'resetZoom' },
      { role: 'zoomIn' },
      { role: 'zoomOut' },
      { role: 'togglefullscreen' }
    ]
  }
  const go: MenuItemConstructorOptions = {
    label: texts.goMenu,
    submenu: [
      ...SCREENS.map(({ to, name }) => ({ label: texts[name], click: () => actions.open(`#${to}`) })),
      SEPARATOR,
      command(texts.paletteLabel, 'mod+k', 'CmdOrCtrl+K')
    ]
  }
  const run: MenuItemConstructorOptions = { label: texts.runMenu, submenu: [command(texts.runSpidersMenu, 'r')] }
  const help: MenuItemConstructorOptions = {
    role: 'help',
    label: texts.helpMenu,
    submenu: [
      command(texts.keyboardShortcuts, '?'),
      { label: texts.openLogs, click: actions.openLogs },
      ...(isMac ? [] : [SEPARATOR, about])
    ]
  }
  app.setAboutPanelOptions({ applicationName: texts.scrapdeck, applicationVersion: app.getVersion() })
  Menu.setApplicationMenu(
    Menu.buildFromTemplate([
      ...(isMac ? [ofApp] : []),
      file,
      { role: 'editMenu' },
      view,
      go,
      run,
      { role: 'windowMenu' },
      help
    ])
  )
}
