import { homedir } from 'node:os'
import { join } from 'node:path'
import { app, type IpcMainEvent, MessageChannelMain, type MessagePortMain, ipcMain, safeStorage, shell } from 'electron'
import type { AlertNotice, Figures } from '../shared/contract/index.ts'
import { SshTunnels } from '../engine/nodes/ssh/ssh-tunnels.ts'
import { systemClock } from '../engine/runtime/clock.ts'
import { openFileSecretBox } from '../engine/runtime/file-secret-box.ts'
import { systemRandom } from '../engine/runtime/random.ts'
import { serveApp, registerAppScheme } from './app-protocol.ts'
import { type EngineHost, startEngineHost } from './engine-host.ts'
import { type EngineReads, followEngine } from './follow-engine.ts'
import { createNotifications, type NotifyingEngine } from './notifications.ts'
import { openLogFiles } from './log-files.ts'
import { installLifecycle, isRestarted } from './lifecycle.ts'
import { installMenu } from './menu.ts'
import { openRemoteEngines, type RemoteEngines } from './remote/remote-engines.ts'
import { readDesktopSettings } from './settings.ts'
import { type FleetTray, openTray } from './tray.ts'
import { createMainWindow, denyPermissions, lockDownPages, openInBrowser } from './window.ts'
import { DESKTOP_APP, LOCAL_ENGINE, MENU_CHANNEL, WIRE_CHANNEL } from '../shared/wire.ts'
import { isAppUrl, viewOfAlerts, DEEP_LINK_SCHEME, findDeepLink, jobIdOfDeepLink } from './app-url.ts'
import { asSealedText, type SecretBox } from '../engine/runtime/secret-box.ts'
import { texts } from '../shared/texts/ui/desktop.ts'

registerAppScheme()
lockDownPages()
// A second instance passes its arguments to the first and exits. The first instance shows its window.
if (app.requestSingleInstanceLock()) startDesktop()
else app.exit(0)

function startDesktop(): void {
  const userData = app.getPath('userData')
  const resourcesDirectory = app.isPackaged ? process.resourcesPath : join(app.getAppPath(), 'resources')
  const rendererDirectory = join(import.meta.dirname, '../renderer')
  const window = createMainWindow({
    preloadPath: join(import.meta.dirname, '../preload/index.cjs'),
    statePath: join(userData, 'window.json'),
    iconPath: join(resourcesDirectory, 'icons/icon.png'),
    onPageGone: (reason) => notifications.say(texts.pageGone, texts.pageGoneHint(reason)),
    notice: isRestarted() ? { message: texts.restarted, detail: texts.restartedHint } : null,
    onSessionEnd: () => lifecycle.systemEnds()
  })
  const logsDirectory = join(userData, 'logs')
  const logs = openLogFiles(logsDirectory)
  const stopping = new AbortController()
  let reading: ReturnType<typeof readSettings> | null = null
  let host: Promise<EngineHost> | null = null
  let remote: Promise<RemoteEngines> | null = null
  let tray: FleetTray | null = null
  const notifications = createNotifications((view) => window.open(view))

  // Each of these events can occur before the app can open windows.
  const show = (link: string | null) => void app.whenReady().then(() => window.open(viewOfLink(link)))
  app.on('second-instance', (_event, argv) => show(findDeepLink(argv)))
  app.on('open-url', (event, link) => {
    event.preventDefault()
    show(link)
  })
  app.on('activate', () => show(null))
  // The engine continues without a window. The tray remains.
  app.on('window-all-closed', () => {})
  if (app.isPackaged) app.setAsDefaultProtocolClient(DEEP_LINK_SCHEME)

  const lifecycle = installLifecycle({
    localRunningCount: async () => (await host)?.localRunningCount() ?? 0,
    stopLocalSpiders: async () => (await host)?.stopLocalSpiders(),
    async stop() {
      stopping.abort()
      notifications.close()
      tray?.close()
      await window.flush()
      await (await remote)?.stop()
      await (await host)?.stop()
      await logs.close()
    }
  })

  async function readSettings() {
    const settings = readDesktopSettings(userData, process.env, homedir())
    const secretKey = join(settings.options.dataDirectory, 'secret.key')
    const logger = logs.logger(settings.options.logLevel ?? 'warn')
    return { settings, logger, secretBox: await openSecretBox(() => openFileSecretBox(secretKey)) }
  }

  async function startRemoteEngines(): Promise<RemoteEngines> {
    const { settings, logger, secretBox } = await reading!
    const program = settings.options.sshProgram ?? 'ssh'
    const seams = { clock: systemClock, random: systemRandom, logger }
    return openRemoteEngines({
      path: join(userData, 'engines.json'),
      statesDirectory: join(userData, 'engine-states'),
      tunnels: new SshTunnels({ ...seams, program }),
      secretBox,
      appVersion: app.getVersion(),
      openInBrowser,
      whileLive: (engine, signal) => follow(engine, () => {}, signal),
      clock: systemClock,
      logger
    })
  }

  function follow(
    engine: NotifyingEngine & { client: EngineReads },
    showFigures: (figures: Figures) => void,
    signal: AbortSignal
  ): void {
    const { id, name, client } = engine
    const showAlerts = (count: number) =>
      tray?.showAlerts({ view: viewOfAlerts(id), name: id === null ? null : name, count })
    signal.addEventListener('abort', () => showAlerts(0))
    const shown = {
      figures: showFigures,
      alerts: showAlerts,
      notices: (notices: AlertNotice[]) => notifications.show(engine, notices)
    }
    const onBroken = (error: unknown) => console.warn(`The tray does not follow ${name} at the moment:`, error)
    void followEngine(client, shown, { clock: systemClock, signal, onBroken })
  }

  async function setPaused(paused: boolean): Promise<void> {
    try {
      await (await host)?.client.system.setPaused({ paused })
    } catch (error) {
      notifications.say(texts.couldNotPause, (error as Error).message)
    }
  }

  async function startEngine(): Promise<EngineHost> {
    const { settings, logger, secretBox } = await reading!
    return startEngineHost({
      logger,
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
    installMenu({
      open: window.open,
      send: (key) => window.send(MENU_CHANNEL, key),
      openLogs: () => void shell.openPath(logsDirectory)
    })
    // Open the window while the engine opens its store. The first calls wait in the channel.
    window.open(viewOfLink(findDeepLink(process.argv)))
    const icons = join(resourcesDirectory, 'icons')
    tray = openTray(
      { usual: join(icons, 'tray.png'), alert: join(icons, 'tray-alert.png') },
      {
        open: (view) => window.open(view),
        setPaused: (paused) => void setPaused(paused),
        quit: () => app.quit()
      }
    )
    const shown = tray
    try {
      const [{ client }] = await Promise.all([host, remote])
      const own = { id: null, name: texts.scrapdeck, isReadOnly: false, client }
      follow(own, (figures) => shown.show(figures), stopping.signal)
    } catch (error) {
      lifecycle.couldNotStart(error as Error)
    }
  })
}

function viewOfLink(link: string | null): string {
  const jobId = link === null ? null : jobIdOfDeepLink(link)
  return jobId === null ? '' : `#/jobs?job=${jobId}`
}

type Connect = (port: MessagePortMain) => void

/**
 * Gives a MessagePort to each of our documents that requests one, and the other end to the named engine or to the
 * desktop app itself. Rejects other senders.
 */
function openWires(host: Promise<EngineHost>, remote: Promise<RemoteEngines>): void {
  const whoServes = async (to: unknown): Promise<Connect | null> => {
    if (to === LOCAL_ENGINE) return (await host).connect
    const engines = await remote
    return to === DESKTOP_APP ? engines.connectApp : engines.findConnect(String(to))
  }
  ipcMain.on(WIRE_CHANNEL, (event: IpcMainEvent, to: unknown) => {
    const frame = event.senderFrame
    if (!frame || frame.parent !== null || !isAppUrl(frame.url)) {
      console.warn(`A connection was refused for ${frame?.url ?? '(closed)'}`)
      return
    }
    const { port1, port2 } = new MessageChannelMain()
    frame.postMessage(WIRE_CHANNEL, to, [port2])
    // Until the engine is open, messages from the page wait in the channel.
    whoServes(to).then(
      (connect) => (connect === null ? port1.close() : connect(port1)),
      () => port1.close()
    )
  })
}

const PREFIX = 'keychain:'

/**
 * A SecretBox backed by the system's keychain. Uses only the asynchronous API, because Electron 46 removes the
 * synchronous one. Without a real keychain, Electron on Linux uses `basic_text`, a password that is the same on every
 * machine. In that case, uses `fallback`, a key file that only this user can read. The description of the returned box
 * says why.
 */
async function openSecretBox(fallback: () => Promise<SecretBox>): Promise<SecretBox> {
  const backend = process.platform === 'linux' ? safeStorage.getSelectedStorageBackend() : 'system'
  const isAvailable = backend !== 'basic_text' && (await safeStorage.isAsyncEncryptionAvailable())
  if (isAvailable) return createKeychainSecretBox(backend)
  const box = await fallback()
  return {
    ...box,
    description: texts.notInKeychain(backend, box.description),
    seal: (plainText) => box.seal(plainText),
    open: (sealed) => box.open(sealed)
  }
}

function createKeychainSecretBox(backend: string): SecretBox {
  return {
    store: 'keychain',
    description: backend === 'system' ? texts.inKeychain : texts.inKeychainNamed(backend),
    async seal(plainText) {
      const sealed = await safeStorage.encryptStringAsync(plainText)
      return asSealedText(PREFIX + sealed.toString('base64'))
    },
    async open(sealed) {
      if (!sealed.startsWith(PREFIX)) {
        throw new Error('This secret was not encrypted with this keychain: enter it again')
      }
      const { result } = await safeStorage.decryptStringAsync(Buffer.from(sealed.slice(PREFIX.length), 'base64'))
      return result
    }
  }
}
