import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { uploadDemo } from '../support/demo-egg.ts'
import { startService } from '../support/service.ts'
import { until } from '../../src/engine/testing/until.ts'

interface Posted {
  id: string
  headers: Record<string, unknown>
  body: string
  jobId: string
  taken: boolean
}

/** Accepts the first `taking` messages and leaves later ones without a response until `takeAll`. */
async function startReceiver(taking: number) {
  const posted: Posted[] = []
  let left = taking
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { headers } = request
      const taken = left > 0
      left -= 1
      posted.push({ id: String(headers['webhook-id']), headers, body, jobId: JSON.parse(body).data.job.id, taken })
      if (taken) response.writeHead(204).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    posted,
    takeAll() {
      left = Number.POSITIVE_INFINITY
    }
  }
}

function isSigned({ headers, body, id }: Posted, secret: string): boolean {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const signature = createHmac('sha256', key)
    .update(`${id}.${String(headers['webhook-timestamp'])}.${body}`)
    .digest('base64')
  return headers['webhook-signature'] === `v1,${signature}`
}

test('webhook deliveries survive kill -9: every event arrives, and repeats keep the same id', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-webhooks-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const configuration = join(directory, 'scrapyd.conf')
  writeFileSync(configuration, '[scrapdeck]\nwebhook_networks = 127.0.0.1\n')
  const service = await startService({ localSlots: 0, arguments: ['--config', configuration] })
  onTestFinished(() => service.stop())
  const receiver = await startReceiver(5)
  const { posted } = receiver
  await uploadDemo(service, 'r1')
  const settings = { name: 'ours', url: receiver.url, events: ['job.queued' as const] }
  const { webhook, secret } = await service.client.webhooks.create(settings)
  const queue = async () =>
    (
      await service.client.jobs.runMany({
        jobs: Array.from({ length: 12 }, () => ({ project: 'demo', spider: 'quotes' }))
      })
    ).ids
  const deliveries = async () => (await service.client.webhooks.deliveries({ id: webhook.id, limit: 200 })).deliveries

  const asked = await queue()
  await until(
    'some to be taken and written down as told, others to be under way',
    async () => [posted.length, (await deliveries()).filter(({ state }) => state === 'delivered').length],
    ([came, delivered]) => came! > 5 && delivered === 5
  )
  const known = new Set((await deliveries()).filter(({ state }) => state === 'delivered').map(({ id }) => id))
  // The service has accepted these jobs, but cannot deliver their messages, because the receiver does not respond.
  asked.push(...(await queue()))
  await service.kill()
  const before = posted.splice(0)
  receiver.takeAll()
  await service.start()
  await until(
    'nothing to wait any more',
    async () => (await service.client.webhooks.list()).webhooks[0]!.waiting,
    (waiting) => waiting === 0,
    // On a busy machine, a request that the receiver held can time out twice. The next retry then follows 33 s later.
    90_000
  )

  const told = [...before.filter(({ taken }) => taken), ...posted]
  expect(new Set(told.map(({ jobId }) => jobId))).toEqual(new Set(asked))
  expect(told.filter((message) => !isSigned(message, secret))).toEqual([])
  // An event has the same id and body each time it arrives.
  const wordsOf = new Map([...before, ...posted].map(({ id, body }) => [id, body]))
  expect([wordsOf.size, new Set(wordsOf.values()).size]).toEqual([asked.length, asked.length])
  for (const { id, body } of [...before, ...posted]) expect([id, body]).toEqual([id, wordsOf.get(id)])
  // Only deliveries in flight are repeated, not recorded ones.
  const again = new Set(posted.map(({ id }) => id))
  const underWay = before.filter(({ taken }) => !taken)
  expect(underWay.length).toBeGreaterThan(0)
  expect(underWay.filter(({ id }) => !again.has(id))).toEqual([])
  expect(before.filter(({ id }) => known.has(id) && again.has(id))).toEqual([])
}, 180_000)
