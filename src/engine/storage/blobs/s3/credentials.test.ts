import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createFakeClock, type FakeClock } from '../../../testing/fake-clock.ts'
import { makeTemporaryDirectory } from '../../../testing/temporary-directory.ts'
import { CredentialChain, readConfiguredRegion } from './credentials.ts'

describe('credentials', () => {
  let home: string
  let clock: FakeClock
  beforeEach(async () => {
    const temporary = await makeTemporaryDirectory()
    onTestFinished(temporary.remove)
    home = temporary.path
    clock = createFakeClock()
    mkdirSync(join(home, '.aws'))
  })
  const nothing = { AWS_EC2_METADATA_DISABLED: 'true' }
  const write = (name: string, text: string) => {
    writeFileSync(join(home, name), text)
    return join(home, name)
  }
  const chain = (environment: Record<string, string>, more: { file?: string; profile?: string } = {}) =>
    new CredentialChain({
      file: more.file ?? null,
      profile: more.profile ?? null,
      homeDirectory: home,
      clock,
      environment: { ...nothing, ...environment }
    })
  const shared = (name: string, key: string) =>
    `[${name}]\r\naws_access_key_id = ${key}\naws_secret_access_key=s/${key}==\nregion = eu-${key}\n`

  test('come from the environment first, then from the shared file', async () => {
    write('.aws/credentials', shared('default', 'file'))
    const variables = { AWS_ACCESS_KEY_ID: 'k', AWS_SECRET_ACCESS_KEY: ' s\n', AWS_SESSION_TOKEN: 't' }
    expect(await chain(variables).get()).toMatchObject({ accessKeyId: 'k', secretAccessKey: 's', sessionToken: 't' })
    expect(await chain({}).get()).toMatchObject({
      accessKeyId: 'file',
      secretAccessKey: 's/file==',
      sessionToken: null
    })
  })

  test('come from the named profile, or only from our own file', async () => {
    write('.aws/credentials', `# ours\n${shared('default', 'one')}\n${shared('other', 'two')}aws_session_token = t\n`)
    const variables = { AWS_ACCESS_KEY_ID: 'k', AWS_SECRET_ACCESS_KEY: 's' }
    expect(await chain({ AWS_PROFILE: 'other' }).get()).toMatchObject({ accessKeyId: 'two', sessionToken: 't' })
    expect(await chain(variables, { profile: 'other' }).get()).toMatchObject({ accessKeyId: 'two' })
    await expect(chain(variables, { profile: 'none' }).get()).rejects.toThrow('no section [none]')
    const file = write('ours', shared('default', 'three'))
    expect(await chain(variables, { file }).get()).toMatchObject({ accessKeyId: 'three' })
    await expect(chain(variables, { file: join(home, 'missing') }).get()).rejects.toThrow('ENOENT')
    write('.aws/config', '[profile other]\nregion = ap-south-1\n')
    expect(await readConfiguredRegion({ environment: {}, homeDirectory: home, profile: 'other' })).toBe('ap-south-1')
    expect(await readConfiguredRegion({ environment: {}, homeDirectory: home, profile: null })).toBeNull()
  })

  test('that do not exist are reported, and looked up again', async () => {
    const file = write('later', '')
    const later = chain({}, { file })
    await expect(later.get()).rejects.toThrow('has no section [default]')
    write('later', shared('default', 'now'))
    expect(await later.get()).toMatchObject({ accessKeyId: 'now' })
    await expect(chain({}).get()).rejects.toThrow('no credentials: no variables AWS_ACCESS_KEY_ID')
    if (process.getuid?.() === 0) return
    chmodSync(file, 0)
    await expect(chain({}, { file }).get()).rejects.toThrow('EACCES')
  })

  test('of a container are renewed before they expire, and kept if that fails', async () => {
    let asked = 0
    let isAway = false
    const url = await listen((incoming) => {
      asked += 1
      if (incoming.headers.authorization !== 'a token' || isAway) return [403, '']
      const Expiration = new Date(clock.nowMs() + 3_600_000).toISOString()
      return [200, JSON.stringify({ AccessKeyId: `k${asked}`, SecretAccessKey: 's', Token: 't', Expiration })]
    })
    const container = chain({ AWS_CONTAINER_CREDENTIALS_FULL_URI: url, AWS_CONTAINER_AUTHORIZATION_TOKEN: 'a token' })
    const get = async () => (await container.get()).accessKeyId
    expect([await get(), await get()]).toEqual(['k1', 'k1'])
    await clock.advanceBy(3_400_000)
    expect(await Promise.all([get(), get()])).toEqual(['k2', 'k2'])
    isAway = true
    await clock.advanceBy(3_400_000)
    expect(await get()).toBe('k2')
    await clock.advanceBy(300_000)
    await expect(get()).rejects.toThrow('cannot be read (403)')
    const elsewhere = chain({ AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://10.0.0.1/steal' })
    await expect(elsewhere.get()).rejects.toThrow('neither on this machine nor https')
  })

  test('of a machine need its token; without such a service there are none', async () => {
    const answers: Record<string, string> = {
      'PUT /latest/api/token': 'a token',
      'GET /latest/meta-data/iam/security-credentials/': 'crawler',
      'GET /latest/meta-data/iam/security-credentials/crawler': '{"AccessKeyId":"k","SecretAccessKey":"s","Token":"t"}'
    }
    const url = await listen(({ method, url: path, headers }) => {
      const isAllowed = method === 'PUT' || headers['x-aws-ec2-metadata-token'] === 'a token'
      return [isAllowed ? 200 : 401, isAllowed ? answers[`${method} ${path}`]! : '']
    })
    const machine = chain({ AWS_EC2_METADATA_DISABLED: 'false', AWS_EC2_METADATA_SERVICE_ENDPOINT: url })
    expect(await machine.get()).toMatchObject({ accessKeyId: 'k', from: 'the role crawler of this machine' })
    const none = { AWS_EC2_METADATA_DISABLED: 'false', AWS_EC2_METADATA_SERVICE_ENDPOINT: 'http://127.0.0.1:9' }
    await expect(chain(none).get()).rejects.toThrow('there are no credentials')
  })

  test('of a web identity are those of the role that its token may assume', async () => {
    const bodies: string[] = []
    const url = await listen(async (incoming) => {
      let body = ''
      for await (const piece of incoming) body += String(piece)
      bodies.push(body)
      if (!body.includes('WebIdentityToken=a.b.c')) return [403, '<Error><Code>AccessDenied</Code></Error>']
      const found =
        '<AccessKeyId>k</AccessKeyId><SecretAccessKey>s&amp;</SecretAccessKey><SessionToken>t</SessionToken>'
      return [200, `<R><Credentials>${found}<Expiration>2030-01-01T00:00:00Z</Expiration></Credentials></R>`]
    })
    const token = write('token', 'a.b.c\n')
    const variables = { AWS_WEB_IDENTITY_TOKEN_FILE: token, AWS_ROLE_ARN: 'arn:role', AWS_ENDPOINT_URL_STS: url }
    expect(await chain(variables).get()).toMatchObject({ accessKeyId: 'k', secretAccessKey: 's&', sessionToken: 't' })
    write('token', 'wrong')
    await expect(chain(variables).get()).rejects.toThrow('arn:role cannot be assumed (403 AccessDenied)')
  })

  async function listen(
    answer: (incoming: IncomingMessage) => [number, string] | Promise<[number, string]>
  ): Promise<string> {
    const respond = async (incoming: IncomingMessage, response: ServerResponse) => {
      const [status, text] = await answer(incoming)
      response.writeHead(status).end(text)
    }
    const server = createServer((incoming, response) => void respond(incoming, response))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
})
