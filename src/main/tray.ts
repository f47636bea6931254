import { Menu, Tray, nativeImage } from 'electron'
import type { Figures } from '../shared/contract/index.ts'

export interface TrayActions {
  open(): void
  setPaused(paused: boolean): void
  quit(): void
}

export interface FleetTray {
  show(figures: Figures): void
  close(): void
}

/** The fleet at a glance while the window is closed (running, free, failed), with three actions. */
export function openTray(iconPath: string, actions: TrayActions): FleetTray {
  const tray = new Tray(nativeImage.createFromPath(iconPath))
  tray.on('click', actions.open)
  let shown = ''

  function show(figures: Figures | null) {
    const summary = figures ? describeFigures(figures) : 'starting'
    const key = `${summary} ${figures?.paused}`
    // An update rebuilds a native menu and would close it under the pointer, so update only if the text changed.
    if (key === shown) return
    shown = key
    tray.setToolTip(`Scrapdeck: ${summary}`)
    tray.setContextMenu(
      Menu.buildFromTemplate([
        { label: summary, enabled: false },
        { type: 'separator' },
        { label: 'Open Scrapdeck', click: actions.open },
        {
          label: 'Pause queue',
          type: 'checkbox',
          checked: figures?.paused ?? false,
          enabled: figures !== null,
          click: (item) => actions.setPaused(item.checked)
        },
        { type: 'separator' },
        { label: 'Quit', click: actions.quit }
      ])
    )
  }

  show(null)
  return {
    show,
    close: () => {
      if (!tray.isDestroyed()) tray.destroy()
    }
  }
}

/** `3 running, 5 free, 1 failed in the last hour`. */
export function describeFigures(figures: Figures): string {
  const free = Math.max(0, figures.slotsTotal - figures.slotsUsed)
  const parts = [`${figures.running} running`, `${free} free`, `${figures.failedLastHour} failed in the last hour`]
  return figures.paused ? `paused, ${parts.join(', ')}` : parts.join(', ')
}
