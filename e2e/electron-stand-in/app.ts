import { EventEmitter } from 'node:events'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createConnection, createServer } from 'node:net'
import { join } from 'node:path'
import { closeChromium } from './chromium.ts'
import { BrowserWindow } from './browser-window.ts'
import { appPath, packageJson, userData } from './places.ts'

class PreventableEvent {
  defaultPrevented = false
  preventDefault() {
    this.defaultPrevented = true
  }
}

class App extends EventEmitter {
  readonly name = packageJson.name
  readonly isPackaged = false
  #isReady = false
  #isQuitting = false
  readonly #lockPath = join(userData, 'stand-in.lock')

  constructor() {
    super()
    // `ready` fires only after the main bundle has run to its end.
    setTimeout(() => {
      this.#isReady = true
      this.emit('ready')
    })
  }

  whenReady(): Promise<void> {
    return this.#isReady ? Promise.resolve() : new Promise((resolve) => this.once('ready', resolve))
  }
  getPath(name: string): string {
    if (name !== 'userData') throw new Error(`The stand-in knows no path "${name}"`)
    return userData
  }
  getAppPath = () => appPath
  getVersion = () => packageJson.version
  badgeCount = 0
  setBadgeCount(count: number): boolean {
    this.badgeCount = count
    return true
  }

  /** The first process listens on a socket. A second one sends its arguments there and returns false. */
  requestSingleInstanceLock(): boolean {
    if (existsSync(this.#lockPath) && isProcessAlive(Number(readFileSync(`${this.#lockPath}.pid`, 'utf8')))) {
      const socket = createConnection(this.#lockPath)
      socket.on('error', (error) => console.error('The first instance cannot be told:', error))
      socket.end(JSON.stringify(process.argv))
      // app.exit() follows immediately and must not cut off the message.
      exitAfter = new Promise((resolve) => socket.once('close', resolve))
      return false
    }
    rmSync(this.#lockPath, { force: true })
    const server = createServer((socket) => {
      let text = ''
      socket.on('data', (data) => (text += data))
      socket.on('end', () => this.emit('second-instance', new PreventableEvent(), JSON.parse(text), process.cwd()))
    })
    server.listen(this.#lockPath).unref()
    writeFileSync(`${this.#lockPath}.pid`, String(process.pid))
    return true
  }

  /** Emits before-quit, closes each window, emits will-quit and exits. Any of the first three steps can cancel this. */
  quit(): void {
    if (this.#isQuitting) return
    const beforeQuit = new PreventableEvent()
    this.emit('before-quit', beforeQuit)
    if (beforeQuit.defaultPrevented) return
    this.#isQuitting = true
    for (const window of BrowserWindow.getAllWindows()) {
      window.close()
      if (!window.isDestroyed()) {
        this.#isQuitting = false
        return
      }
    }
    const willQuit = new PreventableEvent()
    this.emit('will-quit', willQuit)
    if (willQuit.defaultPrevented) this.#isQuitting = false
    else this.exit(0)
  }

  exit(code = 0): void {
    void exitAfter.then(closeChromium).then(() => process.exit(code))
  }

  setAsDefaultProtocolClient(): boolean {
    return true
  }
  setAboutPanelOptions(): void {}
  /** Only prints what Electron would start after the exit. */
  relaunch({ args }: { args: string[] }): void {
    console.error(`[relaunch] ${args.at(-1)}`)
  }
}

let exitAfter: Promise<unknown> = Promise.resolve()

export const app = new App()

BrowserWindow.onCreated((window) => {
  app.emit('web-contents-created', new PreventableEvent(), window.webContents)
  window.once('closed', () => {
    if (BrowserWindow.getAllWindows().length > 0) return
    // As in Electron, closing the last window quits the app unless there is a listener.
    if (!app.emit('window-all-closed')) app.quit()
  })
})
// Electron's main process does not exit when its event loop is empty.
setInterval(() => {}, 2 ** 30)

function isProcessAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
