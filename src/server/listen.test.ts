import { spawnSync } from 'node:child_process'
import dns from 'node:dns/promises'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createFakeEngine, someFigures } from './testing/fake-engine.ts'
import { makeTestDirectory, openTestService, RIGHT } from './testing/test-app.ts'

/** Sends bytes unchanged, which HTTP clients would normalise, and returns the whole response. */
function sendRaw(where: number | string, lines: string[], host = '127.0.0.1'): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(typeof where === 'number' ? { port: where, host } : { path: where }, () =>
      socket.write(`${lines.join('\r\n')}\r\n\r\n`)
    )
    socket.on('data', (data) => {
      answer += data.toString('latin1')
    })
    socket.on('end', () => resolve(answer))
    socket.on('error', reject)
  })
}

describe('listening', () => {
  it('gives the engine its address and responds there, only under its own port', async () => {
    const { engine, service, port } = await openTestService()
    expect(engine.address).toBe(service.address)
    expect((await fetch(`${service.address}/health`)).status).toBe(200)
    const answer = await sendRaw(port, ['GET /health HTTP/1.1', 'Host: 127.0.0.1:1', 'Connection: close'])
    expect(answer).toMatch(/^HTTP\/1\.1 403 /)
  })

  it('responds before the contract is loaded; a call waits for it once its credentials are checked', async () => {
    const engine = createFakeEngine()
    const router = Promise.withResolvers<Awaited<ReturnType<typeof engine.router>>>()
    const { service } = await openTestService({}, { ...engine, router: () => router.promise })
    const url = `${service.address}/api/v1/jobs?limit=7`
    const call = fetch(url, { headers: { authorization: RIGHT } })
    expect((await fetch(`${service.address}/health`)).status).toBe(200)
    expect((await fetch(url)).status).toBe(401)
    router.resolve(await engine.router())
    expect(await (await call).json()).toMatchObject({ jobs: [{ priority: 7 }] })
    await service.loaded
  })

  it('reports a contract that cannot be loaded, and its calls fail', async () => {
    const router = () => Promise.reject(new Error('a file is missing'))
    const { service } = await openTestService({}, { ...createFakeEngine(), router })
    await expect(service.loaded).rejects.toThrow('a file is missing')
    const answer = await fetch(`${service.address}/api/v1/jobs`, { headers: { authorization: RIGHT } })
    expect([answer.status, await answer.json()]).toEqual([500, expect.objectContaining({ code: 'INTERNAL' })])
  })

  it('logs in a browser by the one-time link', async () => {
    const { service } = await openTestService()
    const response = await fetch(service.createLoginLink(), { redirect: 'manual' })
    expect([response.status, response.headers.get('set-cookie')]).toEqual([303, expect.stringContaining('HttpOnly')])
  })

  it('names a port that is in use, and says what to do', async () => {
    const { port } = await openTestService()
    await expect(openTestService({ port })).rejects.toThrow(
      `Port ${port} of 127.0.0.1 is in use by another program. Stop it, or choose another with --port.`
    )
  })

  it('names an address that does not belong to this machine', async () => {
    await expect(openTestService({ bindAddress: '192.0.2.1' })).rejects.toThrow('Correct --bind')
  })

  it('when bound to localhost, it listens on each of its addresses', async () => {
    const both = [
      { address: '127.0.0.1', family: 4 },
      { address: '127.0.0.2', family: 4 }
    ]
    const lookup = vi.spyOn(dns, 'lookup').mockImplementation((async () => both) as unknown as typeof dns.lookup)
    onTestFinished(() => lookup.mockRestore())
    const { service, port } = await openTestService({ bindAddress: 'localhost' })
    expect(service.address).toBe(`http://localhost:${port}`)
    for (const { address } of both) {
      const answer = await sendRaw(
        port,
        ['GET /health HTTP/1.1', `Host: localhost:${port}`, 'Connection: close'],
        address
      )
      expect(answer).toMatch(/^HTTP\/1\.1 200 /)
    }
    await service.stop()
    await expect(sendRaw(port, ['GET /health HTTP/1.1'], '127.0.0.2')).rejects.toThrow('ECONNREFUSED')
  })

  it('when bound to all interfaces, it reports the loopback address', async () => {
    const { service } = await openTestService({ bindAddress: '0.0.0.0' })
    expect(service.address).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  })

  it.each(['/logs/../logs/shop/', '/logs/shop/..', '/logs/shop/%2e%2e/', '/ui/../../etc/passwd', '//logs//..//'])(
    'the path %s is not found',
    async (path) => {
      const { engine, port } = await openTestService()
      engine.files.logs.set('shop/quotes/a-1.log', Buffer.from('log'))
      const answer = await sendRaw(port, [
        `GET ${path} HTTP/1.1`,
        `Host: 127.0.0.1:${port}`,
        `Authorization: ${RIGHT}`,
        'Connection: close'
      ])
      expect(answer).toMatch(/^HTTP\/1\.1 (404|503) /)
    }
  )

  it.each([
    ['no Host', ['GET /health HTTP/1.0']],
    [
      'an absolute address of another host',
      ['GET http://evil.example/health HTTP/1.1', 'Host: evil.example', 'Connection: close']
    ]
  ])('a request with %s is rejected', async (_name, lines) => {
    const { port } = await openTestService()
    expect(await sendRaw(port, lines)).toMatch(/^HTTP\/1\.1 403 /)
  })

  it('a Unix socket is open to its user and group, accepts any Host, and still requires the password', async () => {
    const unixSocketPath = join(makeTestDirectory(), 'deck.sock')
    const { service, port } = await openTestService({ unixSocketPath })
    expect(statSync(unixSocketPath).mode & 0o777).toBe(0o660)
    const lines = ['GET /listprojects.json HTTP/1.1', 'Host: anything.example', 'Connection: close']
    expect(await sendRaw(unixSocketPath, lines)).toMatch(/^HTTP\/1\.1 401 /)
    expect(await sendRaw(unixSocketPath, [...lines, `Authorization: ${RIGHT}`])).toMatch(/^HTTP\/1\.1 200 /)
    expect(await sendRaw(port, [...lines, `Authorization: ${RIGHT}`])).toMatch(/^HTTP\/1\.1 403 /)
    await service.stop()
    expect(existsSync(unixSocketPath)).toBe(false)
  })

  it('a socket can be the only listener and replaces only a stale socket', async () => {
    const unixSocketPath = join(makeTestDirectory(), 'deck.sock')
    const killItself = `require('net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`
    expect(spawnSync(process.execPath, ['-e', killItself, unixSocketPath]).signal).toBe('SIGKILL')
    expect(existsSync(unixSocketPath)).toBe(true)
    const { service } = await openTestService({ port: null, unixSocketPath })
    expect(service.address).toBe(`unix:${unixSocketPath}`)
    await expect(openTestService({ port: null, unixSocketPath })).rejects.toThrow('another program listens there')
    expect(await sendRaw(unixSocketPath, ['GET /health HTTP/1.1', 'Host: x', 'Connection: close'])).toMatch(/ 200 /)
    const file = join(makeTestDirectory(), 'file')
    writeFileSync(file, 'precious')
    await expect(openTestService({ port: null, unixSocketPath: file })).rejects.toThrow('Correct unix_socket_path')
    expect(readFileSync(file, 'utf8')).toBe('precious')
  })

  it('a stop cuts event streams, waits for open requests, and can be called twice', async () => {
    const { engine, service } = await openTestService()
    engine.addBatch(someFigures(1))
    const headers = { authorization: RIGHT }
    const events = await fetch(`${service.address}/api/v1/events?after=0`, { headers })
    const reader = (events.body as ReadableStream<Uint8Array>).getReader()
    await reader.read()
    const slow = Promise.withResolvers<string[]>()
    const asked = Promise.withResolvers<void>()
    engine.scrapyd.listProjects = () => {
      asked.resolve()
      return slow.promise
    }
    const answer = fetch(`${service.address}/listprojects.json`, { headers })
    await asked.promise

    const stopped = Promise.all([service.stop(), service.stop()])
    await expect(reader.read()).rejects.toThrow()
    slow.resolve(['shop'])
    expect(await (await answer).json()).toMatchObject({ projects: ['shop'] })
    await stopped
    expect(engine.openStreams.count).toBe(0)
    await expect(fetch(`${service.address}/health`)).rejects.toThrow()
  })
})
