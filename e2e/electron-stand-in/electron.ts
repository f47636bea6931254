/**
 * A test-only stand-in for the `electron` module, for machines where no Electron binary is to be had. The *built*
 * out/main and out/preload bundles run on it unchanged, in a plain Node process of their own.
 *
 * What is real: the main bundle, its process, its exit; a Chromium page per window; the preload bundle in an isolated
 * world of that page (as with Electron's contextIsolation), before any script of the page; every crossing between
 * main, preload and page goes through structured clone; the answers of protocol.handle with their headers, so the
 * browser itself enforces the CSP; navigation, window.open and permissions, asked of the app's own handlers.
 * What is not: native drawing (tray, menu and dialogs are only objects), the sandbox of the operating system, fuses,
 * and the custom scheme: Chromium knows it only when compiled in, so the pages live at
 * https://SCHEME.HOST.localhost/ and every URL is translated on its way (address.ts).
 *
 * Only what src/main uses is here, with the behaviour that Electron documents for it; anything else is a TypeError,
 * which is how a new use shows itself.
 */
export { app } from './app.ts'
export { BrowserWindow } from './browser-window.ts'
export { ipcMain, MessageChannelMain } from './ipc.ts'
export { dialog, Menu, nativeImage, safeStorage, screen, shell, Tray } from './system.ts'
export { protocol, session } from './session.ts'
