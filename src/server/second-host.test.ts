import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { createFakeClock } from '../engine/testing/fake-clock.ts'
import { silentLogger } from '../engine/runtime/logger.ts'
import { hasSeveralHosts } from './auth/request-rule.ts'
import { CertificateFiles } from './certificate-files.ts'
import { makeCertificate } from '../engine/testing/make-certificate.ts'
import { openTestService, RIGHT } from './testing/test-app.ts'

async function ask(port: number, lines: string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write([...lines, 'Connection: close', '', ''].join('\r\n'))
  return text(socket)
}

it('a second Host header is refused, whatever its value and order', async () => {
  const { port } = await openTestService()
  const ours = `Host: 127.0.0.1:${port}`
  const get = (...headers: string[]) =>
    ask(port, ['GET /daemonstatus.json HTTP/1.1', `Authorization: ${RIGHT}`, ...headers])
  expect(await get(ours)).toMatch(/^HTTP\/1\.1 200 /)
  for (const headers of [
    [ours, 'Host: evil.example'],
    ['Host: evil.example', ours],
    [ours, 'hOST: evil.example'],
    [ours, ours]
  ]) {
    expect(await get(...headers)).toMatch(/^HTTP\/1\.1 400 [^]*more than one Host header/)
  }
})

it('the redirect to https refuses a second Host header, too', async () => {
  const parts = { clock: createFakeClock(), logger: silentLogger }
  const certificate = await CertificateFiles.open(makeCertificate('deck.example.org'), parts)
  onTestFinished(() => certificate.stop())
  const { service } = await openTestService({ certificate, allowedHosts: ['deck.example.org'], redirectPort: 0 })
  const answer = await ask(service.redirectPort!, ['GET / HTTP/1.1', 'Host: deck.example.org', 'Host: evil.example'])
  expect(answer).toMatch(/^HTTP\/1\.1 400 /)
  expect(answer).not.toMatch(/^location:/im)
})

it('over HTTP/2, a Host header must match the authority', () => {
  expect(hasSeveralHosts([':authority', 'a', 'host', 'a'])).toBe(false)
  expect(hasSeveralHosts([':authority', 'a', 'host', 'b'])).toBe(true)
  expect(hasSeveralHosts(['Accept', 'host', 'Host', 'a'])).toBe(false)
  expect(hasSeveralHosts()).toBe(false)
})
