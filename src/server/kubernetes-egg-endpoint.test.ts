import { expect, it } from 'vitest'
import { openTestApp } from './testing/test-app.ts'

it('a signed link opens its egg without a password, and an expired one does not', async () => {
  const { askAnonymously } = openTestApp()
  const found = await askAnonymously({ url: '/kubernetes/eggs/abc' })
  expect([found.statusCode, found.body, found.headers['content-length']]).toEqual([200, 'abc', '3'])
  expect((await askAnonymously({ url: '/kubernetes/eggs/expired' })).statusCode).toBe(403)
})
