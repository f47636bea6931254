/**
 * A test-only stand-in for the `electron` module, for machines without an Electron binary. The *built* out/main and
 * out/preload bundles run on it unchanged, in a plain Node process.
 *
 * Real parts: the main bundle, its process and its exit; a Chromium page per window; the preload bundle in an
 * isolated world of that page, before any script of the page; structured clone of all messages; the responses of
 * protocol.handle with their headers, so the browser itself enforces the CSP; navigation, window.open and
 * permissions, decided by the app's handlers. Missing parts: native drawing (tray, menu and dialogs are only
 * objects), the operating system's sandbox, fuses, and the custom scheme (address.ts).
 *
 * Only what src/main uses exists here. Anything else is a TypeError, which reveals a new use.
 */
export { app } from './app.ts'
export { BrowserWindow } from './browser-window.ts'
export { ipcMain, MessageChannelMain } from './ipc.ts'
export {
  clipboard,
  dialog,
  Menu,
  nativeImage,
  nativeTheme,
  Notification,
  powerMonitor,
  safeStorage,
  screen,
  shell,
  Tray
} from './system.ts'
export { protocol, session } from './session.ts'
