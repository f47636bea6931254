import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../engine/runtime/clock.ts'
import { connectRemote } from './connection.ts'
import { failureOf } from './testing/open-desktop.ts'

it('gives up an endless response, whether or not it is stored', async () => {
  let open = 0
  const hostile = createServer((_, response) => {
    open += 1
    response.once('close', () => (open -= 1))
    response.writeHead(200, { 'content-type': 'application/json' })
    const spaces = Buffer.alloc(1_000_000, ' ')
    Readable.from(endless(spaces)).pipe(response)
  }).listen(0, '127.0.0.1')
  await once(hostile, 'listening')
  onTestFinished(() => void hostile.close())
  const url = `http://127.0.0.1:${(hostile.address() as AddressInfo).port}`
  const tunnels = { use: () => expect.fail('without SSH') }
  const address = { name: 'EU', url, credentials: null, certificate: null }
  const { client, close } = connectRemote(address, { tunnels, clock: systemClock })
  onTestFinished(close)
  const tooLarge = { code: 'ENGINE_UNREACHABLE', message: expect.stringContaining('too large') }
  expect(await failureOf(client.jobs.list({}))).toMatchObject(tooLarge)
  const context = { onBytes: () => expect.fail('is not kept') }
  expect(await failureOf(client.jobs.list({}, { context }))).toMatchObject(tooLarge)
  await expect.poll(() => open).toBe(0)
})

function* endless(piece: Buffer): Generator<Buffer> {
  while (true) yield piece
}
