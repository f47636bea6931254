import { type IpcMainEvent, MessageChannelMain, ipcMain } from 'electron'
import { WIRE_CHANNEL } from '../shared/wire.ts'
import { isAppUrl } from './app-url.ts'
import type { EngineHost } from './engine-host.ts'

/** Gives a MessagePort to each of our documents that asks, and the other end to the engine. Rejects other senders. */
export function openWires(host: Promise<EngineHost>): void {
  ipcMain.on(WIRE_CHANNEL, (event: IpcMainEvent) => {
    const frame = event.senderFrame
    if (!frame || frame.parent !== null || !isAppUrl(frame.url)) {
      console.warn(`A connection was refused for ${frame?.url ?? 'a closed frame'}`)
      return
    }
    const { port1, port2 } = new MessageChannelMain()
    frame.postMessage(WIRE_CHANNEL, null, [port2])
    // Until the engine is open, messages from the page wait in the channel.
    host.then(
      ({ connect }) => connect(port1),
      () => port1.close()
    )
  })
}
