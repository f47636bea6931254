import { RPCHandler } from '@orpc/server/message-port'
import { type RouterClient, createRouterClient } from '@orpc/server'
import type { MessagePortMain } from 'electron'
import { createEngine } from '../engine/index.ts'
import type { Engine } from '../engine/index.ts'
import type { SecretBox } from '../engine/runtime/secret-box.ts'

interface EngineHostOptions {
  dataDirectory: string
  resourcesDirectory: string
  scrapdeckVersion: string
  secretBox: SecretBox
}

/**
 * The engine as the shell sees it. Only this file knows that it runs in the main process: everything here could be
 * answered by a utilityProcess as well, so moving it there changes nothing else.
 */
export interface EngineHost {
  /** The contract in this process: for the tray. */
  client: RouterClient<Engine['router']>
  /** Serves the contract on one end of a MessageChannelMain until the other end goes. */
  connect(port: MessagePortMain): void
  localRunningCount(): Promise<number>
  stopLocalSpiders(): Promise<void>
  /** Spiders of the local node go on. May be called twice. */
  stop(): Promise<void>
}

/** Opens the engine and its HTTP door (so that Scrapyd clients work with the desktop too) on a free port near 6800. */
export async function startEngineHost(options: EngineHostOptions): Promise<EngineHost> {
  const engine = await createEngine({ ...options, host: 'desktop' })
  const handler = new RPCHandler(engine.router)
  return {
    client: createRouterClient(engine.router),
    connect(port) {
      handler.upgrade(port)
      port.start()
    },
    localRunningCount: async () => engine.localRunningCount(),
    stopLocalSpiders: () => engine.stopLocalSpiders(),
    stop: () => engine.stop()
  }
}
