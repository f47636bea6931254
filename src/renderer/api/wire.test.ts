import { os } from '@orpc/server'
import { RPCHandler } from '@orpc/server/message-port'
import { afterEach, expect, it, vi } from 'vitest'
import { wireMessage } from '../../shared/wire.ts'
import { connectDesktop, connectWire } from './wire.ts'

afterEach(() => {
  delete window.scrapdeck
})

it('accepts only a port that comes from its own window and leads to its engine', async () => {
  const { port1: ours } = new MessageChannel()
  const { port1: foreign } = new MessageChannel()
  const started = vi.spyOn(ours, 'addEventListener')
  const startedForeign = vi.spyOn(foreign, 'addEventListener')
  const send = (port: MessagePort, source: Window | null, to: string) => {
    const event = new MessageEvent('message', { data: wireMessage(to), source })
    Object.defineProperty(event, 'ports', { value: [port] })
    window.dispatchEvent(event)
  }
  window.scrapdeck = {
    platform: 'linux',
    requestWire: (to) => {
      send(foreign, null, to)
      send(foreign, window, 'another engine')
      send(ours, window, to)
    }
  }
  await connectWire()
  expect(startedForeign).not.toHaveBeenCalled()
  expect(started).toHaveBeenCalled()
  ours.close()
  foreign.close()
})

it('requests a new wire when the wire closes; the call in flight rejects, and the next one waits for the new wire', async () => {
  const near: MessagePort[] = []
  window.scrapdeck = {
    platform: 'linux',
    requestWire(to) {
      const { port1, port2 } = new MessageChannel()
      const count = near.push(port1)
      const remove = os.handler(() => (count === 1 ? new Promise(() => {}) : `answer of wire ${count}`))
      new RPCHandler({ engines: { remove } }).upgrade(port1)
      port1.start()
      const event = new MessageEvent('message', { data: wireMessage(to), source: window })
      Object.defineProperty(event, 'ports', { value: [port2] })
      queueMicrotask(() => window.dispatchEvent(event))
    }
  }
  const client = (await connectDesktop())!
  const inFlight = client.engines.remove({ id: '1' } as never)
  near[0]!.close()
  await expect(inFlight).rejects.toThrow()
  expect(await client.engines.remove({ id: '1' } as never)).toBe('answer of wire 2')
  for (const port of near) port.close()
  delete window.scrapdeck
})
