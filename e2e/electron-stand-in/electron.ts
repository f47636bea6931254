/**
 * A test-only stand-in for the `electron` module, for machines that cannot get an Electron binary. The *built* out/main
 * and out/preload bundles run on it unchanged, in a plain Node process.
 *
 * Real are: the main bundle, its process and its exit; a Chromium page per window; the preload bundle in an isolated
 * world of that page (as with Electron's contextIsolation), before any script of the page; structured clone for
 * everything that crosses between main, preload and page; the responses of protocol.handle with their headers, so that
 * the browser itself enforces the CSP; navigation, window.open and permissions, decided by the app's own handlers. Not
 * real are: native drawing (tray, menu and dialogs are only objects), the operating system's sandbox, fuses, and the
 * custom scheme: Chromium knows it only when compiled in, so pages live at https://SCHEME.HOST.localhost/ and every URL
 * is translated (address.ts).
 *
 * Only what src/main uses exists here, with the behaviour that Electron documents; anything else is a TypeError, which
 * is how a new use shows up.
 */
export { app } from './app.ts'
export { BrowserWindow } from './browser-window.ts'
export { ipcMain, MessageChannelMain } from './ipc.ts'
export { dialog, Menu, nativeImage, Notification, safeStorage, screen, shell, Tray } from './system.ts'
export { protocol, session } from './session.ts'
