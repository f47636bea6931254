import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, type Page } from '@playwright/test'
import type { Client } from '../support/service.ts'
import { QUOTES } from './schedules.ts'

export interface Receiver {
  url: string
  answerWith(status: number): void
  /** Returns the types of the received events, in order. Throws if an event is not signed with `secret`. */
  received(secret: string): string[]
  stop(): void
}

export async function startReceiver(): Promise<Receiver> {
  const taken: { id: string; at: string; signature: string; body: string }[] = []
  let status = 204
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const header = (name: string) => String(request.headers[`webhook-${name}`])
      const body = Buffer.concat(pieces).toString()
      taken.push({ id: header('id'), at: header('timestamp'), signature: header('signature'), body })
      response.writeHead(status).end()
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/in`,
    answerWith: (next) => {
      status = next
    },
    received: (secret) =>
      taken.map(({ id, at, signature, body }) => {
        const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
        const ours = createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')
        expect(signature.split(' ')).toContain(`v1,${ours}`)
        return (JSON.parse(body) as { type: string }).type
      }),
    stop: () => server.close()
  }
}

/**
 * A new webhook shows its secret once and delivers a test message. A delivery that was given up is listed and sent
 * again.
 */
export async function tellAReceiver(page: Page, client: Client, receiver: Receiver): Promise<void> {
  await page.getByRole('link', { name: 'Settings' }).click()
  await page.getByRole('button', { name: 'Add webhook' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('URL').fill(receiver.url)
  await dialog.getByLabel('Name').fill('warehouse')
  await dialog.getByRole('button', { name: 'Add webhook', exact: true }).click()
  const secret = await dialog.getByText(/^whsec_/).innerText()
  await dialog.getByRole('button', { name: 'I have saved it' }).click()
  await expect(page.getByText(secret)).toBeHidden()

  const row = page.getByRole('listitem', { name: 'Webhook warehouse' })
  await row.getByRole('button', { name: 'Test' }).click()
  await expect(row.getByRole('status')).toContainText('Test delivered: 204')
  expect(receiver.received(secret)).toEqual(['webhook.test'])

  // 410 means gone, so the delivery is given up immediately. Other failures are retried for days.
  receiver.answerWith(410)
  await client.jobs.run(QUOTES)
  await expect(row).toContainText('1 given up', { timeout: 30_000 })
  await expect(row.getByRole('switch')).not.toBeChecked()
  await expect(row.getByRole('alert')).toContainText('410')
  receiver.answerWith(204)
  await row.getByRole('switch').click({ force: true })
  await expect(row.getByRole('switch')).toBeChecked()
  await row.getByRole('button', { name: 'Deliveries' }).click()
  const delivery = dialog.getByRole('listitem').filter({ hasText: 'job.ended' })
  await expect(delivery).toContainText('given up')
  await delivery.getByRole('button', { name: /^Send job.ended/ }).click()
  await dialog.getByText('All', { exact: true }).click()
  await expect(delivery).toContainText('delivered')
  expect(receiver.received(secret)).toEqual(['webhook.test', 'job.ended', 'job.ended'])
}
