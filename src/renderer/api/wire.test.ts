import { afterEach, expect, it, vi } from 'vitest'
import { WIRE_MESSAGE } from '../../shared/wire.ts'
import { connectWire } from './wire.ts'

afterEach(() => {
  delete window.scrapdeck
})

it('accepts only a port that comes from its own window', async () => {
  const { port1: ours } = new MessageChannel()
  const { port1: foreign } = new MessageChannel()
  const started = vi.spyOn(ours, 'addEventListener')
  const startedForeign = vi.spyOn(foreign, 'addEventListener')
  const send = (port: MessagePort, source: Window | null) => {
    const event = new MessageEvent('message', { data: WIRE_MESSAGE, source })
    Object.defineProperty(event, 'ports', { value: [port] })
    window.dispatchEvent(event)
  }
  window.scrapdeck = {
    platform: 'linux',
    requestWire: () => {
      send(foreign, null)
      send(ours, window)
    }
  }
  await connectWire()
  expect(startedForeign).not.toHaveBeenCalled()
  expect(started).toHaveBeenCalled()
  ours.close()
  foreign.close()
})
