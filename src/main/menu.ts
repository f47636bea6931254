import { Menu, type MenuItemConstructorOptions, app } from 'electron'

/** The application menu. Its editing roles matter: without them, macOS has no copy and paste in text fields. */
export function installMenu(openWindow: () => void): void {
  const first: MenuItemConstructorOptions = {
    label: app.name,
    submenu: [
      { label: 'Open Scrapdeck', accelerator: 'CmdOrCtrl+O', click: openWindow },
      { type: 'separator' },
      ...(process.platform === 'darwin' ? [{ role: 'hide' } as const, { role: 'unhide' } as const] : []),
      { role: 'quit' }
    ]
  }
  const view: MenuItemConstructorOptions = {
    label: 'View',
    submenu: [
      { role: 'reload' },
      ...(app.isPackaged ? [] : [{ role: 'toggleDevTools' } as const]),
      { type: 'separator' },
      { role: 'resetZoom' },
      { role: 'zoomIn' },
      { role: 'zoomOut' },
      { role: 'togglefullscreen' }
    ]
  }
  Menu.setApplicationMenu(Menu.buildFromTemplate([first, { role: 'editMenu' }, view, { role: 'windowMenu' }]))
}
