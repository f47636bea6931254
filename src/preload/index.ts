import { contextBridge, ipcRenderer } from 'electron'
import { WIRE_CHANNEL, WIRE_MESSAGE } from '../shared/wire.ts'

// The page gets one wire and nothing else of Electron. The contract behind the wire is all it can call.
ipcRenderer.on(WIRE_CHANNEL, (event) => {
  const [port] = event.ports
  // '/' means "only to a document of my own origin": the port gives full access to the engine.
  if (port) window.postMessage(WIRE_MESSAGE, '/', [port])
})

contextBridge.exposeInMainWorld('scrapdeck', {
  platform: process.platform,
  requestWire: () => ipcRenderer.send(WIRE_CHANNEL)
})
