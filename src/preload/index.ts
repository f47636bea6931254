import { contextBridge, ipcRenderer } from 'electron'
import { MENU_CHANNEL, WIRE_CHANNEL, menuMessage, wireMessage } from '../shared/wire.ts'

// The page gets message ports and nothing else from Electron. It can call only the contracts behind the ports.
ipcRenderer.on(WIRE_CHANNEL, (event, to: unknown) => {
  const [port] = event.ports
  // '/' means "only to a document of my own origin": the port gives full access to the engine.
  if (port) window.postMessage(wireMessage(String(to)), '/', [port])
})
ipcRenderer.on(MENU_CHANNEL, (_event, key: unknown) => window.postMessage(menuMessage(String(key)), '/'))

contextBridge.exposeInMainWorld('scrapdeck', {
  platform: process.platform,
  requestWire: (to: unknown) => ipcRenderer.send(WIRE_CHANNEL, String(to))
})
