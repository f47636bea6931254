import type { Attack } from '../attack.ts'
import type { Attacker, Got } from '../attacker.ts'
import { basicAuthorization } from '../../support/basic-authorization.ts'
import { TEST_CREDENTIALS } from '../../support/service.ts'

const WRONG = basicAuthorization({ ...TEST_CREDENTIALS, password: 'wrong' })
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

async function logIn(attacker: Attacker): Promise<Record<string, string>> {
  const body = new URLSearchParams({ ...TEST_CREDENTIALS }).toString()
  const origin = attacker.address
  const got = await attacker.send({
    method: 'POST',
    path: '/ui/login',
    headers: { ...FORM, origin },
    body,
    anonymous: true
  })
  const cookies = [got.headers['set-cookie'] ?? []].flat().map((cookie) => cookie.split(';', 1)[0]!)
  return { cookie: cookies.join('; '), origin }
}

const asSession = (attacker: Attacker, headers: Record<string, string>, path: string, input: unknown): Promise<Got> =>
  attacker.send({
    method: 'POST',
    path: `/api/rpc/${path}`,
    anonymous: true,
    body: JSON.stringify({ json: input }),
    headers: { ...headers, 'content-type': 'application/json' }
  })

export const credentialAttacks: Attack[] = [
  {
    name: 'a session asks for the password and for login links',
    door: 'ui',
    async run({ attacker }) {
      const session = await logIn(attacker)
      const complaints: string[] = []
      const status = await asSession(attacker, session, 'system/status', {})
      if (status.status !== 200) complaints.push(`the session itself was answered ${status.status}`)
      for (const path of ['system/status', 'users/me', 'system/createLoginLink', 'system/loginLink']) {
        const got = await asSession(attacker, session, path, {})
        if (got.body.includes(TEST_CREDENTIALS.password)) complaints.push(`${path} tells the password`)
        if (got.body.includes('token=')) complaints.push(`${path} makes a login link`)
      }
      return complaints
    }
  },
  {
    name: 'a thousand wrong passwords lock nobody else out',
    door: 'http',
    async run({ attacker, scale }) {
      for (let count = 0; count < 1_000 * scale + 320; count += 1)
        await attacker.send({ path: '/daemonstatus.json', anonymous: true, headers: { authorization: WRONG } })
      const right = await attacker.send({ path: '/daemonstatus.json' })
      return right.status === 200 ? [] : [`the right password was answered ${right.status}`]
    }
  },
  {
    name: 'a batch that is refused for its size costs no more than a request',
    door: 'json-rpc',
    async run({ attacker }) {
      const calls = Array.from({ length: 100_000 }, () => 1)
      for (let count = 0; count < 3; count += 1) await attacker.sendJson('/api/v1/jsonrpc', calls)
      const after = await attacker.send({ path: '/api/v1/nodes' })
      return after.status === 200 ? [] : [`the next request was answered ${after.status}`]
    }
  },
  {
    name: 'web pages of others, forged hosts and forged prefixes',
    door: 'http',
    async run({ attacker }) {
      const complaints: string[] = []
      const crossSite = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
      const spider = { ...crossSite, ...FORM, 'sec-fetch-mode': 'no-cors' }
      const asked: [string, Got][] = [
        [
          'a form of another site',
          await attacker.send({ method: 'POST', path: '/delproject.json', headers: spider, body: 'project=demo' })
        ],
        [
          'a GET that changes something, as navigation',
          await attacker.send({
            path: '/schedule.json?project=demo&spider=quotes',
            headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
          })
        ],
        [
          'a script of another site',
          await attacker.send({ path: '/api/v1/nodes', headers: { ...crossSite, 'sec-fetch-mode': 'cors' } })
        ],
        ['a rebound host', await attacker.send({ path: '/daemonstatus.json', headers: { host: 'evil.example' } })]
      ]
      for (const [what, { status }] of asked) if (status < 400) complaints.push(`${what}: answered ${status}`)
      for (const path of ['/', '/jobs', '/logs/', '/ui/login']) {
        const got = await attacker.send({ path, headers: { 'x-forwarded-prefix': '/"><script>alert(1)</script>' } })
        if (got.body.includes('<script>alert')) complaints.push(`${path} reflects X-Forwarded-Prefix`)
      }
      return complaints
    }
  }
]
