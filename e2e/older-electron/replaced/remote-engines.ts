import type { MessagePortMain } from 'electron'
import { connectTo, onRemote, whenStarted } from './engine-wires.ts'

/** As openRemoteEngines of src/main/remote/remote-engines.ts, which runs in the engine's process. */
export async function openRemoteEngines({ openInBrowser, whileLive }: typeof onRemote) {
  if (openInBrowser) onRemote.openInBrowser = openInBrowser
  if (whileLive) onRemote.whileLive = whileLive
  await whenStarted()
  return {
    connectApp: (port: MessagePortMain) => connectTo('desktop', port),
    findConnect: (id: string) => (port: MessagePortMain) => connectTo(id, port),
    stop: async () => {}
  }
}
