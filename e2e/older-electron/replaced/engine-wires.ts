/**
 * In the shell: the engine and the remote engines run in a Node 24 process, because this Electron's Node is too old for
 * them. Each MessagePort is forwarded over the IPC channel of that process.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { createORPCClient } from '@orpc/client'
import { RPCLink } from '@orpc/client/message-port'
import { MessageChannelMain, type MessagePortMain } from 'electron'
import { decodeClone, encodeClone } from '../../electron-stand-in/clone-codec.ts'
import type { FromEngineProcess, ToEngineProcess } from '../engine-process-messages.ts'
import type { RemoteLive } from '../engine-process-messages.ts'

let child: ChildProcess | null = null
let started: Promise<unknown> | null = null
let lastId = 0
const ports = new Map<number, MessagePortMain>()
const calls = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
const live = new Map<number, AbortController>()

/** Set by the replaced remote engines. */
export const onRemote: {
  openInBrowser?: (url: string) => void
  whileLive?: (engine: RemoteLive & { client: unknown }, signal: AbortSignal) => void
} = {}

const send = (message: ToEngineProcess) => void (child?.connected && child.send(message))

export function call(name: string, argument: unknown = null): Promise<unknown> {
  const id = ++lastId
  return new Promise((resolve, reject) => {
    calls.set(id, { resolve, reject })
    send({ kind: 'call', id, name, argument })
  })
}

export const whenStarted = async () => {
  while (started === null) await new Promise((resolve) => setTimeout(resolve, 5))
  await started
}

export function start(options: object): Promise<unknown> {
  if (started !== null) return started
  child = fork(process.env['SCRAPDECK_TEST_ENGINE']!, [], {
    execPath: process.env['SCRAPDECK_TEST_NODE']!,
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc']
  })
  child.on('exit', (code, signal) => {
    console.error(`The engine's process ended: ${code ?? signal}`)
    for (const { reject } of calls.values()) reject(new Error('The engine ended'))
    for (const port of ports.values()) port.close()
  })
  child.on('message', receive)
  return (started = call('start', options))
}

export function disconnect(): void {
  child?.disconnect()
}

function receive(message: FromEngineProcess): void {
  switch (message.kind) {
    case 'answer': {
      const waiting = calls.get(message.id)
      calls.delete(message.id)
      if (message.error === undefined) return waiting?.resolve(message.value)
      return waiting?.reject(Object.assign(new Error(message.error.message), message.error))
    }
    case 'data':
      return ports.get(message.id)?.postMessage(decodeClone(message.data))
    case 'close':
      ports.get(message.id)?.close()
      return void ports.delete(message.id)
    case 'openInBrowser':
      return onRemote.openInBrowser?.(message.url)
    case 'live': {
      const ending = new AbortController()
      live.set(message.key, ending)
      return onRemote.whileLive?.({ ...message.engine, client: clientOf(message.engine.id) }, ending.signal)
    }
    case 'notLive':
      live.get(message.key)?.abort()
      return void live.delete(message.key)
  }
}

export function connectTo(to: string, port: MessagePortMain): void {
  const id = ++lastId
  ports.set(id, port)
  port.on('message', ({ data }) => send({ kind: 'data', id, data: encodeClone(data) }))
  port.on('close', () => {
    send({ kind: 'close', id })
    ports.delete(id)
  })
  send({ kind: 'open', id, to })
  port.start()
}

export function clientOf(to: string): unknown {
  const { port1, port2 } = new MessageChannelMain()
  connectTo(to, port2)
  const client = createORPCClient(new RPCLink({ port: port1 as never }))
  port1.start()
  return client
}
