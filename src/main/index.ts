import { homedir } from 'node:os'
import { join } from 'node:path'
import { app, dialog } from 'electron'
import pino from 'pino'
import { SshTunnels } from '../engine/nodes/ssh/ssh-tunnels.ts'
import { systemClock } from '../engine/runtime/clock.ts'
import { openFileSecretBox } from '../engine/runtime/file-secret-box.ts'
import { systemRandom } from '../engine/runtime/random.ts'
import { serveApp, registerAppScheme } from './app-protocol.ts'
import { DEEP_LINK_SCHEME, findDeepLink, jobIdOfDeepLink } from './deep-link.ts'
import { type EngineHost, startEngineHost } from './engine-host.ts'
import { followFigures } from './follow-figures.ts'
import { installMenu } from './menu.ts'
import { installQuit } from './quit.ts'
import { openRemoteEngines, type RemoteEngines } from './remote/remote-engines.ts'
import { openSecretBox } from './secrets.ts'
import { readDesktopSettings } from './settings.ts'
import { type FleetTray, openTray } from './tray.ts'
import { createMainWindow, denyPermissions, lockDownPages, openInBrowser } from './window.ts'
import { openWires } from './wire.ts'

registerAppScheme()
lockDownPages()
// A second instance passes its arguments to the first and exits; the first shows its window.
if (app.requestSingleInstanceLock()) startDesktop()
else app.exit(0)

function startDesktop(): void {
  const userData = app.getPath('userData')
  const resourcesDirectory = app.isPackaged ? process.resourcesPath : join(app.getAppPath(), 'resources')
  const rendererDirectory = join(import.meta.dirname, '../renderer')
  const window = createMainWindow({
    preloadPath: join(import.meta.dirname, '../preload/index.cjs'),
    statePath: join(userData, 'window.json'),
    iconPath: join(resourcesDirectory, 'icons/icon.png')
  })
  const stopping = new AbortController()
  let reading: ReturnType<typeof readSettings> | null = null
  let host: Promise<EngineHost> | null = null
  let remote: Promise<RemoteEngines> | null = null
  let tray: FleetTray | null = null

  // Any of these can happen before windows can be opened.
  const show = (link: string | null) => void app.whenReady().then(() => window.open(viewOfLink(link)))
  app.on('second-instance', (_event, argv) => show(findDeepLink(argv)))
  app.on('open-url', (event, link) => {
    event.preventDefault()
    show(link)
  })
  app.on('activate', () => show(null))
  // Without a window the engine continues; the tray shows it.
  app.on('window-all-closed', () => {})
  if (app.isPackaged) app.setAsDefaultProtocolClient(DEEP_LINK_SCHEME)

  installQuit({
    localRunningCount: async () => (await host)?.localRunningCount() ?? 0,
    stopLocalSpiders: async () => (await host)?.stopLocalSpiders(),
    async stop() {
      stopping.abort()
      tray?.close()
      await window.flush()
      await (await remote)?.stop()
      await (await host)?.stop()
    }
  })

  /** Throws BAD_INPUT if a setting is not valid. */
  async function readSettings() {
    const settings = readDesktopSettings(userData, process.env, homedir())
    const secretKey = join(settings.options.dataDirectory, 'secret.key')
    return { settings, secretBox: await openSecretBox(() => openFileSecretBox(secretKey)) }
  }

  async function startRemoteEngines(): Promise<RemoteEngines> {
    const { settings, secretBox } = await reading!
    const logger = pino({ level: settings.options.logLevel ?? 'warn' }, pino.destination(2))
    const program = settings.options.sshProgram ?? 'ssh'
    const seams = { clock: systemClock, random: systemRandom, logger }
    return openRemoteEngines({
      path: join(userData, 'engines.json'),
      statesDirectory: join(userData, 'engine-states'),
      tunnels: new SshTunnels({ ...seams, program }),
      secretBox,
      appVersion: app.getVersion(),
      openInBrowser,
      clock: systemClock,
      logger
    })
  }

  async function startEngine(): Promise<EngineHost> {
    const { settings, secretBox } = await reading!
    return startEngineHost({
      settings,
      userData,
      resourcesDirectory,
      uiDirectory: rendererDirectory,
      docsDirectory: join(app.getAppPath(), 'docs'),
      scrapdeckVersion: app.getVersion(),
      secretBox
    })
  }

  void app.whenReady().then(async () => {
    reading = readSettings()
    host = startEngine()
    remote = startRemoteEngines()
    denyPermissions()
    serveApp(rendererDirectory)
    openWires(host, remote)
    installMenu(() => window.open())
    // The window opens while the engine opens its store; first calls wait in the wire.
    window.open(viewOfLink(findDeepLink(process.argv)))
    try {
      const [{ client }] = await Promise.all([host, remote])
      tray = openTray(join(resourcesDirectory, 'icons/tray.png'), {
        open: () => window.open(),
        setPaused: (paused) => void client.system.setPaused({ paused }),
        quit: () => app.quit()
      })
      const shown = tray
      followFigures(client, (figures) => shown.show(figures), stopping.signal).catch((error: unknown) =>
        console.error('The tray no longer follows the fleet:', error)
      )
    } catch (error) {
      // Never continue without the engine: an app that looks alive but records nothing would be worse.
      console.error(error)
      dialog.showErrorBox('Scrapdeck could not start', (error as Error).message)
      app.exit(1)
    }
  })
}

function viewOfLink(link: string | null): string {
  const jobId = link === null ? null : jobIdOfDeepLink(link)
  return jobId === null ? '' : `#/jobs?job=${jobId}`
}
