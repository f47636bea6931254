import { contextBridge, ipcRenderer } from 'electron'
import { WIRE_CHANNEL, WIRE_MESSAGE } from '../shared/wire.ts'

// The page gets one wire and nothing else of Electron. Everything it may ask for is the contract behind that wire.
ipcRenderer.on(WIRE_CHANNEL, (event) => {
  const [port] = event.ports
  // '/' is "only to a document of my own origin": the port is worth the whole engine.
  if (port) window.postMessage(WIRE_MESSAGE, '/', [port])
})

contextBridge.exposeInMainWorld('scrapdeck', {
  platform: process.platform,
  requestWire: () => ipcRenderer.send(WIRE_CHANNEL)
})
