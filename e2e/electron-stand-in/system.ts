import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { existsSync } from 'node:fs'

// Objects without UI. Specs replace the methods whose calls they record or answer, as on real Electron.

export const dialog = {
  async showMessageBox(options: { cancelId?: number }): Promise<{ response: number; checkboxChecked: boolean }> {
    return { response: options.cancelId ?? 0, checkboxChecked: false }
  },
  showErrorBox(title: string, content: string) {
    console.error(`[error box] ${title}: ${content}`)
  }
}

export const shell = {
  async openExternal(_url: string): Promise<void> {},
  openPath: async (_path: string): Promise<string> => ''
}

export const clipboard = {
  writeText(_text: string): void {}
}

export const nativeTheme = { shouldUseDarkColors: false }

/** Specs emit its events. */
export const powerMonitor = new EventEmitter()

export const screen = {
  getAllDisplays: () => [{ workArea: { x: 0, y: 0, width: 1920, height: 1080 } }]
}

export const nativeImage = {
  createFromPath: (path: string) => ({ path, isEmpty: () => !existsSync(path) })
}

export interface MenuItemTemplate {
  label?: string
  role?: string
  type?: string
  checked?: boolean
  enabled?: boolean
  click?: (item: { checked: boolean }) => void
  submenu?: MenuItemTemplate[]
}

export class Menu {
  static applicationMenu: Menu | null = null
  static buildFromTemplate(items: MenuItemTemplate[]): Menu {
    return new Menu(items)
  }
  static setApplicationMenu(menu: Menu | null) {
    Menu.applicationMenu = menu
  }
  popup() {}
  readonly items: MenuItemTemplate[]
  constructor(items: MenuItemTemplate[]) {
    this.items = items.map((item) => ({
      ...item,
      // As in Electron, a checkbox is toggled before its click handler runs.
      click: () => {
        if (item.type === 'checkbox') item.checked = !item.checked
        item.click?.({ checked: item.checked ?? false })
      }
    }))
  }
}

export class Notification extends EventEmitter {
  readonly title: string
  readonly body: string
  readonly actions: { type: string; text?: string }[]
  constructor({ title = '', body = '', actions = [] }: Partial<Pick<Notification, 'title' | 'body' | 'actions'>> = {}) {
    super()
    ;[this.title, this.body, this.actions] = [title, body, actions]
  }
  show() {}
  close() {}
}

export class Tray extends EventEmitter {
  image: { path: string }
  toolTip = ''
  menu: Menu | null = null
  #isDestroyed = false
  constructor(image: { path: string }) {
    super()
    this.image = image
  }
  setImage(image: { path: string }) {
    this.image = image
  }
  setToolTip(text: string) {
    this.toolTip = text
  }
  setContextMenu(menu: Menu) {
    this.menu = menu
  }
  isDestroyed(): boolean {
    return this.#isDestroyed
  }
  destroy() {
    this.#isDestroyed = true
  }
}

// STAND_IN_KEYCHAIN names the backend to simulate. By default there is none, as in a bare Linux session.
const backend = process.env['STAND_IN_KEYCHAIN'] ?? 'basic_text'
const key = createHash('sha256').update(`keychain of ${backend}`).digest()

export const safeStorage = {
  getSelectedStorageBackend: () => backend,
  isAsyncEncryptionAvailable: async () => backend !== 'basic_text',
  async encryptStringAsync(plainText: string): Promise<Buffer> {
    const nonce = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', key, nonce)
    return Buffer.concat([nonce, cipher.update(plainText, 'utf8'), cipher.final(), cipher.getAuthTag()])
  },
  async decryptStringAsync(sealed: Buffer): Promise<{ result: string; shouldReEncrypt: boolean }> {
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12)).setAuthTag(sealed.subarray(-16))
    const result = Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]).toString('utf8')
    return { result, shouldReEncrypt: false }
  }
}
