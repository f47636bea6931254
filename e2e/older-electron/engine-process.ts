/** The engine, the remote engines and the settings of a shell in an older Electron, in a process with our own Node. */
import { homedir } from 'node:os'
import { join } from 'node:path'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { MessagePortMain } from 'electron'
import pino from 'pino'
import { SshTunnels } from '../../src/engine/nodes/ssh/ssh-tunnels.ts'
import { systemClock } from '../../src/engine/runtime/clock.ts'
import { openFileSecretBox } from '../../src/engine/runtime/file-secret-box.ts'
import { systemRandom } from '../../src/engine/runtime/random.ts'
import { startEngineHost, type EngineHost } from '../../src/main/engine-host.ts'
import { openRemoteEngines, type RemoteEngines } from '../../src/main/remote/remote-engines.ts'
import { readDesktopSettings } from '../../src/main/settings.ts'
import { decodeClone, encodeClone } from '../electron-stand-in/clone-codec.ts'
import type { FromEngineProcess, ToEngineProcess } from './engine-process-messages.ts'

type Options = Omit<Parameters<typeof startEngineHost>[0], 'settings' | 'secretBox' | 'logger'> & {
  description: string
}

let host: EngineHost | null = null
let remote: RemoteEngines | null = null
let lastKey = 0
const ports = new Map<number, MessagePort>()

const send = (message: FromEngineProcess) => void (process.connected && process.send!(message))

const functions: Record<string, (argument: never) => unknown> = {
  async start({ description, ...options }: Options) {
    const { userData, scrapdeckVersion: appVersion } = options
    const settings = readDesktopSettings(userData, process.env, homedir())
    const box = await openFileSecretBox(join(settings.options.dataDirectory, 'secret.key'))
    const secretBox = {
      ...box,
      description,
      seal: (text: string) => box.seal(text),
      open: (sealed: Parameters<typeof box.open>[0]) => box.open(sealed)
    }
    const logger = pino({ level: settings.options.logLevel ?? 'warn' }, pino.destination(2))
    const seams = { clock: systemClock, random: systemRandom, logger }
    remote = openRemoteEngines({
      ...seams,
      path: join(userData, 'engines.json'),
      statesDirectory: join(userData, 'engine-states'),
      tunnels: new SshTunnels({ ...seams, program: settings.options.sshProgram ?? 'ssh' }),
      secretBox,
      appVersion,
      openInBrowser: (url) => send({ kind: 'openInBrowser', url }),
      whileLive({ id, name, isReadOnly }, signal) {
        const key = ++lastKey
        send({ kind: 'live', key, engine: { id: id!, name, isReadOnly } })
        signal.addEventListener('abort', () => send({ kind: 'notLive', key }))
      }
    })
    host = await startEngineHost({ ...options, settings, secretBox, logger })
  },
  localRunningCount: () => host!.localRunningCount(),
  stopLocalSpiders: () => host!.stopLocalSpiders(),
  async stop() {
    await remote?.stop()
    await host?.stop()
  }
}

process.on('message', (message: ToEngineProcess) => {
  switch (message.kind) {
    case 'call':
      return void answer(message)
    case 'open':
      return open(message)
    case 'data':
      return ports.get(message.id)?.postMessage(decodeClone(message.data))
    case 'close': {
      const port = ports.get(message.id)
      ports.delete(message.id)
      return port?.close()
    }
  }
})

async function answer({ id, name, argument }: ToEngineProcess & { kind: 'call' }): Promise<void> {
  try {
    send({ kind: 'answer', id, value: await functions[name]!(argument as never) })
  } catch (error) {
    console.error(error)
    const { message, code } = error as Error & { code?: string }
    send({ kind: 'answer', id, error: { message, ...(code !== undefined && { code }) } })
  }
}

function open({ id, to }: ToEngineProcess & { kind: 'open' }): void {
  const connect = to === 'local' ? host?.connect : to === 'desktop' ? remote?.connectApp : remote?.findConnect(to)
  if (!connect) return send({ kind: 'close', id })
  const { port1, port2 } = new MessageChannel()
  ports.set(id, port1)
  port1.on('message', (data) => send({ kind: 'data', id, data: encodeClone(data) }))
  port1.on('close', () => {
    if (ports.delete(id)) send({ kind: 'close', id })
  })
  connect(port2 as unknown as MessagePortMain)
}

process.on('disconnect', () => process.exit(0))
// The shell decides when the engine stops.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
