import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { answerJson } from '../../testing/scripted-http-node.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import { closers, connect, failureOf, scripted } from './testing/scripted-client.ts'

describe('TLS', () => {
  test('accepts a node with the given CA, and refuses it without, before anything is sent', async () => {
    await using directory = await makeTemporaryDirectory()
    const key = join(directory.path, 'key.pem')
    const certificate = join(directory.path, 'certificate.pem')
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
    execFileSync('openssl', ['req', '-x509', ...curve, '-keyout', key, '-out', certificate, ...subject], {
      stdio: 'ignore'
    })
    let requests = 0
    const server = createTlsServer(
      { key: readFileSync(key), cert: readFileSync(certificate) },
      (_request, response) => {
        requests += 1
        response.end('{"status": "ok", "projects": []}')
      }
    ).listen(0, '127.0.0.1')
    await once(server, 'listening')
    closers.push(async () => server.close())
    const url = `https://localhost:${(server.address() as AddressInfo).port}/`

    expect(await failureOf(connect({ url }).listProjects())).toMatchObject({
      kind: 'unreachable',
      delivered: 'no',
      message: expect.stringContaining('certificate was rejected')
    })
    expect(requests).toBe(0)
    const caCertificate = readFileSync(certificate, 'utf8')
    expect(await connect({ url, caCertificate }).listProjects()).toEqual([])
    const plain = await scripted(answerJson({}))
    const wrong = connect({ url: plain.node.url.replace('http:', 'https:') })
    expect(await failureOf(wrong.listProjects())).toMatchObject({ kind: 'unreachable', delivered: 'no' })
  })

  test('distinguishes a handshake that never starts from a node that is only slow', async () => {
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    closers.push(async () => silent.close())
    const url = `https://127.0.0.1:${(silent.address() as AddressInfo).port}/`
    const { message } = await failureOf(connect({ url, limits: { daemonStatusMs: 150 } }).daemonStatus())
    expect(message).toContain('Check whether it uses TLS at all (else: http://), or is stuck.')
    const slow = await scripted(() => {}, { daemonStatusMs: 150 })
    expect((await failureOf(slow.client.daemonStatus())).message).toContain('Check whether it is overloaded')
  })
})
