import type { MessagePortMain } from 'electron'
import { call, clientOf, connectTo, disconnect, start } from './engine-wires.ts'

interface Options {
  logger: unknown
  secretBox: { description: string; store: string }
}

/** As startEngineHost of src/main/engine-host.ts, which runs in the engine's process. */
export async function startEngineHost({ secretBox: { description, store }, logger: _logger, ...options }: Options) {
  await start({ ...options, description, store })
  return {
    client: clientOf('local'),
    connect: (port: MessagePortMain) => connectTo('local', port),
    localRunningCount: () => call('localRunningCount'),
    stopLocalSpiders: () => call('stopLocalSpiders'),
    async stop() {
      await call('stop')
      disconnect()
    }
  }
}
