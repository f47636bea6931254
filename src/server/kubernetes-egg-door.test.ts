import { expect, it } from 'vitest'
import { openTestApp } from './testing/test-app.ts'

it('a signed link opens its egg without a password, and an expired one does not', async () => {
  const { app } = openTestApp()
  const found = await app.fastify.inject({ url: '/kubernetes/eggs/abc', headers: { host: 'localhost' } })
  expect([found.statusCode, found.body, found.headers['content-length']]).toEqual([200, 'abc', '3'])
  const expired = await app.fastify.inject({ url: '/kubernetes/eggs/expired', headers: { host: 'localhost' } })
  expect(expired.statusCode).toBe(403)
})
