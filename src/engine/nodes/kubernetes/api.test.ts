import { expect, it } from 'vitest'
import { z } from 'zod'
import type { Connection } from '../scrapyd/connection.ts'
import { KubernetesApi } from './api.ts'

it('reading a list stops if its pages never end, even if they are empty', async () => {
  let asked = 0
  const connection = {
    label: 'Node k',
    async send(request: { receive: (head: object) => (piece: Buffer) => unknown }) {
      asked += 1
      if (asked > 5_000) throw new Error('asked for ever')
      const head = { status: 200, headers: { 'content-type': 'application/json' } }
      const metadata = { resourceVersion: '1', continue: String(asked) }
      request.receive(head)(Buffer.from(JSON.stringify({ metadata, items: [] })))
      return head
    }
  } as unknown as Connection
  const listing = new KubernetesApi(connection, async () => null).list('apis/x', 'a=b', z.unknown())
  await expect(listing).rejects.toMatchObject({ kind: 'too_large' })
  expect(asked).toBe(1_001)
})
