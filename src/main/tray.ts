import { app, Menu, type MenuItemConstructorOptions, Tray, nativeImage } from 'electron'
import type { Figures } from '../shared/contract/index.ts'
import { ALERTS_MAX } from './follow-engine.ts'
import { texts } from '../shared/texts/ui/desktop.ts'

export interface TrayActions {
  open(view?: string): void
  setPaused(paused: boolean): void
  quit(): void
}

export interface FleetTray {
  show(figures: Figures): void
  /** `view` is the list of the engine's alerts. `name` is null for the engine of this app. */
  showAlerts(alerts: { view: string; name: string | null; count: number }): void
  close(): void
}

export function openTray(icons: { usual: string; alert: string }, actions: TrayActions): FleetTray {
  const usual = nativeImage.createFromPath(icons.usual)
  const alert = nativeImage.createFromPath(icons.alert)
  const tray = new Tray(usual)
  tray.on('click', () => actions.open())
  const alertsByView = new Map<string, { name: string | null; count: number }>()
  let figures: Figures | null = null
  let shown = ''

  function update() {
    const alerts = [...alertsByView].filter(([, { count }]) => count > 0)
    const total = alerts.reduce((sum, [, { count }]) => sum + count, 0)
    const fleet = figures ? describeFigures(figures) : texts.starting
    const summary = total === 0 ? fleet : texts.fleetAndAlerts(fleet, describeAlerts(total))
    const key = JSON.stringify([summary, figures?.paused, alerts])
    // Update only if the text changed. An update rebuilds the native menu, which would close under the pointer.
    if (key === shown || tray.isDestroyed()) return
    shown = key
    tray.setImage(total === 0 ? usual : alert)
    tray.setToolTip(texts.tooltip(summary))
    // Only some systems show the number on the app's icon.
    app.setBadgeCount(total)
    tray.setContextMenu(
      Menu.buildFromTemplate([
        { label: fleet, enabled: false },
        ...alerts.map(([view, { name, count }]): MenuItemConstructorOptions => {
          const label = describeAlerts(count)
          return { label: name === null ? label : texts.ofEngine(name, label), click: () => actions.open(view) }
        }),
        { type: 'separator' },
        { label: texts.openScrapdeck, click: () => actions.open() },
        {
          label: texts.pauseQueue,
          type: 'checkbox',
          checked: figures?.paused ?? false,
          enabled: figures !== null,
          click: (item) => actions.setPaused(item.checked)
        },
        { type: 'separator' },
        { label: texts.quit, click: actions.quit }
      ])
    )
  }

  update()
  return {
    show(next) {
      figures = next
      update()
    },
    showAlerts({ view, name, count }) {
      alertsByView.set(view, { name, count })
      update()
    },
    close: () => {
      if (!tray.isDestroyed()) tray.destroy()
    }
  }
}

/** `3 running, 5 free, 1 failed in the last hour`. */
export function describeFigures(figures: Figures): string {
  const free = Math.max(0, figures.slotsTotal - figures.slotsUsed)
  return (figures.paused ? texts.figuresPaused : texts.figures)(figures.running, free, figures.failedLastHour)
}

const describeAlerts = (count: number): string =>
  (count < ALERTS_MAX ? texts.alertCount : texts.alertsOrMore)(Math.min(count, ALERTS_MAX))
