import { expect, test } from 'vitest'
import { createSeededRandom } from '../../testing/seeded-random.ts'
import { makeSecret, signedHeaders } from './signature.ts'

test("a message has the signature of Standard Webhooks' own test", () => {
  // javascript/src/index.test.ts of github.com/standard-webhooks/standard-webhooks
  const headers = signedHeaders({
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    atMs: 1_614_265_330_000,
    body: '{"test": 2432232314}',
    secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw']
  })
  expect(headers).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
  })
})

test('while a secret is being changed, both sign, the new one first', () => {
  const random = createSeededRandom(1)
  const [fresh, old] = [makeSecret(random), makeSecret(random)]
  const sign = (secrets: string[]) => signedHeaders({ id: 'a', atMs: 5_999, body: 'é', secrets })
  expect(sign([fresh, old])['webhook-signature']).toBe(
    `${sign([fresh])['webhook-signature']} ${sign([old])['webhook-signature']}`
  )
  expect(sign([fresh])['webhook-timestamp']).toBe('5')
})

test('secrets have the form that receivers expect, and 32 bytes', () => {
  const secret = makeSecret(createSeededRandom(1))
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
})
