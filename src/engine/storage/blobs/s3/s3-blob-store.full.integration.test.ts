import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../runtime/clock.ts'
import { makeTemporaryDirectory } from '../../../testing/temporary-directory.ts'
import { parseEncryptionKeys } from '../../../runtime/encryption-keys.ts'
import { silentLogger } from '../../../runtime/logger.ts'
import { systemRandom } from '../../../runtime/random.ts'
import { parseS3Address } from '../../../runtime/s3-address.ts'
import { SealedBlobStore } from '../sealed/sealed-blob-store.ts'
import { describeBlobStore } from '../testing/conformance.ts'
import { openS3Blobs, type S3BlobsOptions } from './open-s3-blobs.ts'
import { S3_BUCKET, S3_KEYS, type S3Server, startS3, whyNoS3 } from './testing/start-s3.ts'

describe.skipIf(whyNoS3() !== null)('on a real S3 server', () => {
  let server: S3Server
  beforeAll(async () => {
    server = await startS3()
  })
  afterAll(() => server?.stop())

  const openAt = async (directory: string, prefix: string, more: Partial<S3BlobsOptions> = {}) => {
    const blobs = await openS3Blobs({
      address: parseS3Address(`s3://${S3_BUCKET}/${prefix}?endpoint=${server.endpoint}`),
      credentialsFile: null,
      cacheBytes: 100_000_000,
      cacheDirectory: join(directory, `cache-${randomUUID()}`),
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      environment: S3_KEYS,
      homeDirectory: directory,
      ...more
    })
    onTestFinished(() => blobs.stop())
    return blobs
  }

  describeBlobStore('blobs on S3, as any blobs', async (directory) => {
    const prefix = randomUUID()
    const open = async () => (await openAt(directory, prefix)).store
    return { store: await open(), reopen: open }
  })

  const keys = parseEncryptionKeys(randomBytes(32).toString('hex'), 'a test')
  describeBlobStore('sealed blobs on S3, as any blobs', async (directory) => {
    const prefix = randomUUID()
    const open = async () => new SealedBlobStore((await openAt(directory, prefix)).store, keys)
    return { store: await open(), reopen: open }
  })

  describe('blobs on S3', () => {
    let directory: string
    beforeEach(async () => {
      const temporary = await makeTemporaryDirectory()
      onTestFinished(temporary.remove)
      directory = temporary.path
    })
    const at = (address: string) => ({ address: parseS3Address(address) })
    const egg = (text: string) => {
      const bytes = Buffer.from(text)
      return { bytes, name: `eggs/${createHash('sha256').update(bytes).digest('hex')}` }
    }

    test('report at the start what an operator must correct, without secrets', async () => {
      const here = `endpoint=${server.endpoint}`
      const secret = 'a wrong secret'
      const cases: [Partial<S3BlobsOptions>, RegExp][] = [
        [{ environment: { ...S3_KEYS, AWS_SECRET_ACCESS_KEY: secret } }, /secret key does not fit .*AWS_ACCESS_KEY_ID/],
        [{ environment: { ...S3_KEYS, AWS_ACCESS_KEY_ID: 'nobody' } }, /does not know the access key id/],
        [{ environment: { AWS_EC2_METADATA_DISABLED: 'true' } }, /no credentials.*blobs_credentials_file/],
        [at(`s3://nothing/x?${here}`), /no bucket nothing\. Create it/],
        [at(`s3://${S3_BUCKET}/x?${here}&region=eu-west-9`), /is in the region us-east-1\. Add region=us-east-1/],
        [at(`s3://${S3_BUCKET}/x?endpoint=http://127.0.0.1:9`), /nothing listens at http:\/\/127\.0\.0\.1:9/],
        [at(`s3://${S3_BUCKET}/x?endpoint=https://127.0.0.1:${new URL(server.endpoint).port}`), /does not speak TLS/],
        [at(`s3://${S3_BUCKET}/x?endpoint=http://no-such-host.invalid`), /host name is unknown/],
        [
          { clock: { ...systemClock, nowMs: () => systemClock.nowMs() + 3_600_000 } },
          /differ by 60 min: this machine is ahead/
        ],
        [{ credentialsFile: join(directory, 'none') }, /credentials file .*none cannot be read \(ENOENT\)/]
      ]
      await Promise.all(
        cases.map(async ([options, message]) => {
          const refused: unknown = await openAt(directory, 'start', { clock: hurried, ...options }).catch(
            (error) => error
          )
          expect(refused).toMatchObject({ code: 'BLOBS_UNUSABLE', message: expect.stringMatching(message) })
          expect(JSON.stringify(refused) + String(refused)).not.toContain(secret)
        })
      )
    })

    test('report a server that responds but is not S3', async () => {
      const page = await listen((_, response) => response.end('<html>a page</html>'))
      await expect(openAt(directory, 'x', at(`s3://${S3_BUCKET}/x?endpoint=${page}`))).rejects.toThrow('ignores ranges')
      const door = await listen((_, response) => response.writeHead(404, {}).end('no'))
      await expect(openAt(directory, 'x', at(`s3://${S3_BUCKET}/x?endpoint=${door}`))).rejects.toMatchObject({
        code: 'BLOBS_UNUSABLE'
      })
    })

    test.each([
      ['refuses', 501],
      ['ignores', 200]
    ])(
      'are claimed by at most one of two stores at the same moment, even from a server that %s conditions',
      async (_how, status) => {
        const simple = await listen((incoming, response) => {
          if (incoming.headers['if-none-match'] === undefined)
            return forward(server.endpoint, incoming, response, false)
          incoming.resume()
          response.writeHead(status).end(status === 501 ? '<Error><Code>NotImplemented</Code></Error>' : '')
        })
        for (let count = 0; count < 5; count += 1) {
          const prefix = randomUUID()
          const address = parseS3Address(`s3://${S3_BUCKET}/${prefix}?endpoint=${simple}`)
          const claims = ['one', 'other'].map(async (owner) =>
            (await openAt(directory, prefix, { address })).store.claim(owner).then((recorded) => recorded === owner)
          )
          const got = (await Promise.allSettled(claims)).filter((claim) => claim.status === 'fulfilled' && claim.value)
          expect(got.length).toBeLessThanOrEqual(1)
          const { store } = await openAt(directory, prefix, { address })
          const owner = await store.claim('one')
          expect([owner, await store.claim('other')]).toEqual([owner, owner])
          expect((await store.list('owner/')).map(({ name }) => name)).toEqual(['owner/store'])
        }
      }
    )

    test('leave nothing in the bucket at the start', async () => {
      await openAt(directory, 'nothing-left')
      const left = readdirSync(server.directory, { recursive: true, encoding: 'utf8' })
      expect(left.filter((path) => path.startsWith('nothing-left/probe/'))).toEqual([])
    })

    test('are requested again from a server that sometimes fails, and none is written twice or lost', async () => {
      let requests = 0
      const failing = await listen((incoming, response) => {
        requests += 1
        // Drops every third response after the server did the work, and refuses every fourth request.
        if (requests % 4 === 0) return response.writeHead(503).end('<Error><Code>SlowDown</Code></Error>')
        forward(server.endpoint, incoming, response, requests % 3 === 0)
      })
      const prefix = randomUUID()
      const address = parseS3Address(`s3://${S3_BUCKET}/${prefix}?endpoint=${failing}`)
      const { store, figures } = await openAt(directory, prefix, { address, clock: hurried })
      const large = Buffer.alloc(20_000_000, 7)
      for (let index = 0; index < 8; index += 1) await store.write(`logs/job-${index}.zst`, Buffer.from(`log ${index}`))
      await store.write('items/large.zst', large)
      const other = (await openAt(directory, prefix)).store
      expect(Buffer.from(await other.read('items/large.zst')).equals(large)).toBe(true)
      expect((await other.list('logs/')).map(({ sizeBytes }) => sizeBytes)).toEqual(Array(8).fill(5))
      expect(figures().retries).toBeGreaterThan(5)
    })

    test('continue a broken body where it ended', async () => {
      const prefix = randomUUID()
      const content = Buffer.alloc(9_500_000)
      for (let place = 0; place < content.length; place += 97) content[place] = place % 250
      await (await openAt(directory, prefix)).store.write('logs/a.zst', content)
      const ranges: (string | undefined)[] = []
      const breaking = await listen((incoming, response) => {
        if (incoming.method !== 'GET' || !incoming.url!.includes('logs/')) {
          return forward(server.endpoint, incoming, response, false)
        }
        ranges.push(incoming.headers.range)
        forward(server.endpoint, incoming, response, false, 4_000_000)
      })
      const address = parseS3Address(`s3://${S3_BUCKET}/${prefix}?endpoint=${breaking}`)
      const { store } = await openAt(directory, prefix, { address, clock: hurried })
      expect(Buffer.from(await store.read('logs/a.zst')).equals(content)).toBe(true)
      expect(ranges).toEqual([undefined, expect.stringMatching(/^bytes=\d+-$/), expect.stringMatching(/^bytes=\d+-$/)])
    })

    test('are reported as damaged, never returned, if they were changed on the server', async () => {
      const { bytes, name } = egg('an egg that somebody changes')
      const prefix = randomUUID()
      await (await openAt(directory, prefix)).store.write(name, bytes)
      await (await openAt(directory, prefix)).store.write('logs/a.zst', bytes)
      for (const blob of [name, 'logs/a.zst']) {
        const path = join(server.directory, prefix, blob)
        const changed = readFileSync(path)
        changed[3]! ^= 1
        writeFileSync(path, changed)
        const { store } = await openAt(directory, prefix)
        await expect(store.read(blob)).rejects.toMatchObject({ code: 'BLOB_DAMAGED' })
        await expect(store.openRead(blob)).rejects.toMatchObject({ code: 'BLOB_DAMAGED' })
      }
    })

    test('are deleted without references only after the grace period, and an old egg that is uploaded again counts as new', async () => {
      const prefix = randomUUID()
      const [one, other] = [egg('one'), egg('other')]
      // The grace period is several seconds, because S3's times are whole seconds.
      const engine = (await openAt(directory, prefix, { graceMs: 4_000 })).store
      const peer = (await openAt(directory, prefix, { graceMs: 4_000 })).store
      await engine.write(one.name, one.bytes)
      await engine.write(other.name, other.bytes)
      expect(await engine.deleteUnused(one.name)).toBe(false)
      await new Promise((wake) => setTimeout(wake, 5_200))
      await peer.write(one.name, one.bytes)
      expect([await engine.deleteUnused(one.name), await engine.deleteUnused(other.name)]).toEqual([false, true])
      expect((await engine.list('eggs/')).map(({ name }) => name)).toEqual([one.name])
      expect(Buffer.from(await (await openAt(directory, prefix)).store.read(one.name))).toEqual(one.bytes)
      expect(await peer.abortLeftUploads()).toBe(0)
    }, 60_000)

    test('are cached on this machine: across a crash, while the server is away, and within their size', async () => {
      const prefix = randomUUID()
      const { bytes, name } = egg('an egg')
      const cacheDirectory = join(directory, 'cache')
      const first = await openAt(directory, prefix, { cacheDirectory, cacheBytes: 64_000_000 })
      await first.store.write(name, bytes)
      await first.store.read(name)
      for (let index = 0; index < 12; index += 1) {
        await first.store.write(`logs/${index}.zst`, Buffer.alloc(9_000_000, index))
        expect((await first.store.read(`logs/${index}.zst`))[8_999_999]).toBe(index)
      }
      expect(first.cacheFigures().bytes).toBe(8 * 9_000_000)
      await first.store.read(name)
      writeFileSync(join(cacheDirectory, 'draft-of-a-dead-engine'), 'half')
      const second = await openAt(directory, prefix, { cacheDirectory, cacheBytes: 64_000_000, clock: hurried })
      expect(readdirSync(cacheDirectory)).not.toContain('draft-of-a-dead-engine')
      await server.kill()
      try {
        expect(Buffer.from(await second.store.read(name))).toEqual(bytes)
        expect((await second.store.read('logs/11.zst')).length).toBe(9_000_000)
        await expect(second.store.write('logs/new.zst', bytes)).rejects.toMatchObject({ code: 'BLOBS_UNUSABLE' })
        expect([second.state().problem?.code, await second.check()]).toEqual([
          'BLOBS_UNUSABLE',
          'The blob storage (S3) does not respond'
        ])
      } finally {
        await server.start()
      }
      expect(await second.check()).toBeNull()
      await second.store.write('logs/new.zst', bytes)
    }, 60_000)

    test('request encryption by the server in every request that stores an object, and in no other', async () => {
      const storing: string[] = []
      const endpoint = await listen((incoming, response) => {
        const url = new URL(incoming.url!, 'http://s3')
        const stores =
          (incoming.method === 'PUT' && !url.searchParams.has('partNumber')) ||
          (incoming.method === 'POST' && url.searchParams.has('uploads'))
        const asked = incoming.headers['x-amz-server-side-encryption']
        if (stores || asked !== undefined) storing.push(`${stores ? 'stores' : incoming.method} ${asked}`)
        forward(server.endpoint, incoming, response, false)
      })
      const address = `s3://${S3_BUCKET}/${randomUUID()}?endpoint=${endpoint}&sse=AES256`
      const { store } = await openAt(directory, '', at(address))
      await store.claim('a store')
      await store.write('logs/small.zst', Buffer.from('small'))
      await store.write('logs/large.zst', Buffer.alloc(9_000_000))
      expect(storing).toEqual(Array.from({ length: 5 }, () => 'stores AES256'))
      expect((await store.read('logs/large.zst')).length).toBe(9_000_000)
    })
  })
})

const hurried: typeof systemClock = {
  ...systemClock,
  setTimer: (delayMs, callback) => systemClock.setTimer(delayMs > 10_000 ? delayMs : delayMs / 50, callback)
}

async function listen(answer: (incoming: IncomingMessage, response: ServerResponse) => unknown): Promise<string> {
  const door = createServer(answer)
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    door.closeAllConnections()
    door.close()
  })
  return `http://127.0.0.1:${(door.address() as AddressInfo).port}`
}

/** Keeps the client's Host header, which is signed. */
function forward(
  endpoint: string,
  incoming: IncomingMessage,
  response: ServerResponse,
  isLost: boolean,
  mostBytes = Number.POSITIVE_INFINITY
): void {
  const { method, url, headers } = incoming
  const { hostname, port } = new URL(endpoint)
  const outgoing = request({ hostname, port, method, path: url, headers }, (answer) => {
    if (isLost) {
      answer.resume().on('end', () => response.destroy())
      return
    }
    response.writeHead(answer.statusCode!, answer.headers)
    let sent = 0
    answer.on('data', (piece: Buffer) => {
      sent += piece.length
      if (sent <= mostBytes) return void response.write(piece)
      answer.destroy()
      response.destroy()
    })
    answer.on('end', () => response.end())
  })
  outgoing.on('error', () => response.destroy())
  incoming.pipe(outgoing)
}
