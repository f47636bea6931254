import { afterEach, expect, it, vi } from 'vitest'
import { wireMessage } from '../../shared/wire.ts'
import { connectWire } from './wire.ts'

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
