import { type IpcMainEvent, MessageChannelMain, type MessagePortMain, ipcMain } from 'electron'
import { DESKTOP_APP, LOCAL_ENGINE, WIRE_CHANNEL } from '../shared/wire.ts'
import { isAppUrl } from './app-url.ts'
import type { EngineHost } from './engine-host.ts'
import type { RemoteEngines } from './remote/remote-engines.ts'

type Connect = (port: MessagePortMain) => void

/**
 * Gives a MessagePort to each of our documents that asks, and the other end to the engine that it names, or to the
 * desktop app itself. Rejects other senders.
 */
export function openWires(host: Promise<EngineHost>, remote: Promise<RemoteEngines>): void {
  const whoServes = async (to: unknown): Promise<Connect | null> => {
    if (to === LOCAL_ENGINE) return (await host).connect
    const engines = await remote
    return to === DESKTOP_APP ? engines.connectApp : engines.findConnect(String(to))
  }
  ipcMain.on(WIRE_CHANNEL, (event: IpcMainEvent, to: unknown) => {
    const frame = event.senderFrame
    if (!frame || frame.parent !== null || !isAppUrl(frame.url)) {
      console.warn(`A connection was refused for ${frame?.url ?? 'a closed frame'}`)
      return
    }
    const { port1, port2 } = new MessageChannelMain()
    frame.postMessage(WIRE_CHANNEL, to, [port2])
    // Until the engine is open, messages from the page wait in the channel.
    whoServes(to).then(
      (connect) => (connect === null ? port1.close() : connect(port1)),
      () => port1.close()
    )
  })
}
