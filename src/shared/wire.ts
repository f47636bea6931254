/** An IPC channel between preload and main. The page requests a wire on it and gets a MessagePort. */
export const WIRE_CHANNEL = 'scrapdeck:wire'

/** The other IPC channel: main sends the key of a binding that the user chose in the menu (state/keys.ts). */
export const MENU_CHANNEL = 'scrapdeck:menu'
const MENU_MESSAGE = 'scrapdeck-menu '
export const menuMessage = (key: string): string => MENU_MESSAGE + key
/** The key in a message that preload posts to the page. null: it is another message. */
export const keyInMenuMessage = (data: unknown): string | null =>
  typeof data === 'string' && data.startsWith(MENU_MESSAGE) ? data.slice(MENU_MESSAGE.length) : null

/** The target of a wire: the engine of this computer, the desktop app itself, or a remote engine by its id. */
export const LOCAL_ENGINE = 'local'
export const DESKTOP_APP = 'desktop'

/**
 * Preload posts this message to the page, with the MessagePort in `ports[0]`. The page checks that preload is the
 * source.
 */
export const wireMessage = (to: string): string => `scrapdeck-wire ${to}`

/** Marks requests that the desktop app sends to a remote engine for its UI, to distinguish them from API clients. */
export const APP_HEADER = 'x-scrapdeck-app'
