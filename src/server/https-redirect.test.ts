import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { silentLogger } from '../engine/runtime/logger.ts'
import { createFakeClock } from '../engine/testing/fake-clock.ts'
import { CertificateFiles } from './certificate-files.ts'
import { createRedirect } from './https-redirect.ts'
import { makeCertificate } from '../engine/testing/make-certificate.ts'
import { openTestService } from './testing/test-app.ts'

const redirect = createRedirect({
  bindAddress: '0.0.0.0',
  port: () => 80,
  httpsPort: () => 443,
  allowedHosts: ['deck.example.org', 'Other.example.org:8443']
})
const get = (host: string | undefined, url = '/jobs?project=a%20b') => redirect({ method: 'GET', url, host })

it('redirects to the same path and query under https, at the public port', () => {
  expect(get('deck.example.org')).toMatchObject({
    status: 308,
    location: 'https://deck.example.org/jobs?project=a%20b'
  })
  expect(get('DECK.example.org:8080').location).toBe('https://deck.example.org/jobs?project=a%20b')
  expect(get('other.example.org').location).toBe('https://other.example.org:8443/jobs?project=a%20b')
  expect(get('10.0.0.7').location).toBe('https://10.0.0.7/jobs?project=a%20b')
  expect(get('[::1]', '//elsewhere.example/').location).toBe('https://[::1]//elsewhere.example/')
})

it('never redirects to a foreign host name', () => {
  for (const host of [undefined, '', 'evil.example', 'deck.example.org.evil.example', 'deck.example.org@evil.example'])
    expect(get(host)).toMatchObject({ status: 421 })
  expect(get('deck.example.org', 'http://evil.example/').status).toBe(400)
  const ours = ['deck.example.org', 'other.example.org:8443', 'localhost', '127.0.0.1', '[::1]']
  fc.assert(
    fc.property(fc.oneof(fc.constantFrom(...ours), fc.string()), fc.string(), (host, path) => {
      const { location } = get(host, `/${path}`)
      if (location !== undefined && !/^https:\/\/[\d.]+\//.test(location))
        expect(ours).toContain(new URL(location).host)
    })
  )
})

it('refuses anything but a read, so that passwords over plain HTTP fail visibly', () => {
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
    const answer = redirect({ method, url: '/schedule.json', host: 'deck.example.org' })
    expect(answer).toMatchObject({ status: 403, text: expect.stringContaining('https') })
    expect(answer.location).toBeUndefined()
  }
})

it('listens beside the service, responds to nothing else, and ends with it', async () => {
  const parts = { clock: createFakeClock(), logger: silentLogger }
  const certificate = await CertificateFiles.open(makeCertificate('deck.example.org'), parts)
  onTestFinished(() => certificate.stop())
  const options = { certificate, allowedHosts: ['deck.example.org'], redirectPort: 0 }
  const { service, port } = await openTestService(options)
  const ask = (method: string) =>
    new Promise<unknown[]>((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port: service.redirectPort!, path: '/ui/', method, agent: false })
      sent.setHeader('host', 'deck.example.org')
      sent.on('response', (answer) => {
        const { statusCode, headers } = answer
        text(answer).then((body) => resolve([statusCode, headers.location, headers.connection, body]), reject)
      })
      sent.on('error', reject).end()
    })
  const location = `https://deck.example.org:${port}/ui/`
  expect(await ask('GET')).toEqual([308, location, 'close', `Use ${location}\n`])
  expect(await ask('HEAD')).toEqual([308, location, 'close', ''])
  expect(await ask('POST')).toEqual([403, undefined, 'close', expect.stringContaining('plain HTTP')])
  await service.stop()
  await expect(ask('GET')).rejects.toThrow('ECONNREFUSED')
})
