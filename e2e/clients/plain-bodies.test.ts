import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { sendOverHttp } from '../../src/cli/client/rest-link.ts'
import { CredentialChain } from '../../src/engine/storage/blobs/s3/credentials.ts'
import { S3Client } from '../../src/engine/storage/blobs/s3/s3-client.ts'
import { KubernetesApi } from '../../src/engine/nodes/kubernetes/api.ts'
import { createConnection } from '../../src/engine/nodes/scrapyd/connection.ts'
import { createScrapydClient } from '../../src/engine/nodes/scrapyd/scrapyd-client.ts'
import { systemClock } from '../../src/engine/runtime/clock.ts'
import { silentLogger } from '../../src/engine/runtime/logger.ts'
import { parseS3Address } from '../../src/engine/runtime/s3-address.ts'
import { createAddressGuard } from '../../src/engine/notify/deliveries/addresses.ts'
import { createPost } from '../../src/engine/notify/deliveries/post.ts'
import { connectRemote } from '../../src/main/remote/connection.ts'
import { createBoundedFetch } from '../../src/server/auth/bounded-fetch.ts'

const offered: (string | undefined)[] = []
const server = createServer((request, response) => {
  offered.push(request.headers['accept-encoding'])
  request.resume()
  response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'br' })
  response.end(brotliCompressSync('{"status": "ok", "pending": 0, "running": 0, "finished": 0}'))
})
let url = ''

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => void server.close())
beforeEach(() => void offered.splice(0))

const plain = { username: null, password: null, caCertificate: null, clientCertificate: null, proxyUrl: null }
const clock = systemClock
const tunnels = { use: () => expect.fail('without SSH') }
const credentialsOf = (variables: Record<string, string>) =>
  new CredentialChain({ file: null, profile: null, environment: variables, homeDirectory: '/nowhere', clock })
const keys = { AWS_ACCESS_KEY_ID: 'k', AWS_SECRET_ACCESS_KEY: 's' }

const CLIENTS: Record<string, () => Promise<unknown>> = {
  async 'a node'() {
    const client = createScrapydClient({ ...plain, url, name: 'a', clock, logger: silentLogger })
    onTestFinished(() => client.close())
    return client.daemonStatus()
  },
  async 'the API of Kubernetes'() {
    const address = { ...plain, url }
    const connection = createConnection({ address, name: 'k', clock, program: 'kubernetes', environment: {} })
    onTestFinished(() => connection.close())
    return new KubernetesApi(connection, async () => null).ask({ path: 'version' })
  },
  async 'an identity provider'() {
    return createBoundedFetch(clock)(`${url}/.well-known/openid-configuration`, {})
  },
  async 'a remote engine'() {
    const address = { name: 'EU', url, credentials: null, certificate: null }
    const { client, close, explain } = connectRemote(address, { tunnels, clock })
    onTestFinished(close)
    return client.jobs.list({}).catch(async (error: unknown) => {
      throw await explain(error)
    })
  },
  async 'a remote engine, without the contract'() {
    const { post, close } = connectRemote({ name: 'EU', url, credentials: null, certificate: null }, { tunnels, clock })
    onTestFinished(close)
    return post('/oauth/token', {}, AbortSignal.timeout(5_000))
  },
  async 'an engine, from the command line'() {
    return sendOverHttp({ url }, { method: 'GET', url: new URL(url), headers: {}, body: null, signal: undefined })
  },
  async 'a receiver of webhooks'() {
    const post = createPost({ guard: createAddressGuard(['127.0.0.1']), clock })
    const answer = await post({ url, headers: {}, body: '{}', readsText: true })
    return answer.kind === 'failed' ? Promise.reject(new Error(answer.problem)) : answer
  },
  async S3() {
    const address = parseS3Address(`s3://crawls/a?endpoint=${url}`)
    const client = new S3Client({
      address,
      region: 'eu',
      credentials: credentialsOf(keys),
      clock,
      random: { next: () => 0 }
    })
    const signal = AbortSignal.timeout(5_000)
    return client.send({ operation: 'get', method: 'GET', key: 'a', tries: 1, signal }).catch((error: unknown) => {
      throw client.explain(error)
    })
  },
  async 'the service that gives credentials for S3'() {
    return credentialsOf({ AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/get` }).get()
  }
}

test.each(Object.entries(CLIENTS))('%s: a body in an encoding that was not requested is refused', async (_, ask) => {
  await expect(ask()).rejects.toThrow(/encoding .?"br.?", which was not requested/)
  expect(new Set(offered)).toEqual(new Set(['identity']))
})
