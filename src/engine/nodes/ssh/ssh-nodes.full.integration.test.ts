import { spawn } from 'node:child_process'
import { chmodSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { pickLength } from '../../../../scripts/test-length.mjs'
import { systemClock } from '../../runtime/clock.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { answerJson, type Script, startScriptedHttpNode } from '../../testing/scripted-http-node.ts'
import { freePort } from '../../testing/server-process.ts'
import { until } from '../../testing/until.ts'
import { NodeError } from '../node-client.ts'
import { parseNodeUrl } from '../scrapyd/node-url.ts'
import { probeNode } from '../scrapyd/probe.ts'
import { createScrapydClient, type ScrapydClient } from '../scrapyd/scrapyd-client.ts'
import { startMaster } from './ssh-master.ts'
import { SshTunnels } from './ssh-tunnels.ts'
import { startUnshared } from './ssh-unshared.ts'
import { type SshServer, SshWorld, SSH_USER, startSlowLink, whyNoSsh } from './testing/ssh-world.ts'

const STATUS: Script = (request, response, socket) => {
  if (request.method === 'OPTIONS') return void response.writeHead(204).end()
  return answerJson({ running: 1, pending: 2, finished: 3, projects: [] })(request, response, socket)
}
const NO_SETTINGS = { username: null, password: null, caCertificate: null, clock: systemClock, logger: silentLogger }

describe.skipIf(whyNoSsh() !== null)('a node behind a real SSH server', () => {
  let world: SshWorld
  let host: SshServer
  let scrapyd: Awaited<ReturnType<typeof startScriptedHttpNode>>
  let answer: Script
  let tunnels: SshTunnels
  const clients: ScrapydClient[] = []
  const closers: (() => Promise<unknown> | unknown)[] = []

  beforeAll(async () => {
    world = new SshWorld()
    host = await world.startServer()
    scrapyd = await startScriptedHttpNode((...asked) => answer(...asked))
  })
  afterAll(async () => {
    await scrapyd.close()
    await world.close()
  })
  beforeEach(() => {
    answer = STATUS
    tunnels = openTunnels()
  })
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()))
    await tunnels.stop()
    for (const close of closers.splice(0)) await close()
    world.configure('')
  })

  // This random value gives the shortest retry delays.
  const openTunnels = (program = world.program, start = startMaster) =>
    new SshTunnels({
      program,
      startMaster: start,
      clock: systemClock,
      random: { next: () => 0.99 },
      logger: silentLogger
    })

  function nodeAt(url: string, through = tunnels): ScrapydClient {
    const client = createScrapydClient({ ...NO_SETTINGS, ...parseNodeUrl(url), name: 'eu-1', tunnels: through })
    clients.push(client)
    return client
  }

  const nodeBehind = (server: { url: string } = host): ScrapydClient => nodeAt(`${server.url}/${scrapyd.url}`)
  const probe = (url: string, through = tunnels) =>
    probeNode({ address: { url }, clock: systemClock, logger: silentLogger, tunnels: through })

  async function failureOf(client: ScrapydClient): Promise<NodeError> {
    const failure = await client.daemonStatus().then(
      () => null,
      (error: unknown) => error
    )
    expect(failure).toBeInstanceOf(NodeError)
    return failure as NodeError
  }

  test('responds, with a key', async () => {
    const client = nodeBehind()
    expect(await client.daemonStatus()).toMatchObject({ running: 1, pending: 2, finished: 3 })
    const name = `${SSH_USER}@127.0.0.1:${host.port}`
    expect(client.tunnel!.status()).toMatchObject({ host: name, state: 'up', problem: null, retryAtMs: null })
    expect(scrapyd.requests.at(-1)!.headers).toMatchObject({ host: `127.0.0.1:${scrapyd.port}` })
  })

  test('leaves no control socket behind that others could connect to', async () => {
    const isOurs = (name: string) => /^scrapdeck-ssh-\w{6}$/.test(name)
    const before = readdirSync(tmpdir()).filter(isOurs)
    await nodeBehind().daemonStatus()
    expect(readdirSync(tmpdir()).filter((name) => isOurs(name) && !before.includes(name))).toEqual([])
  })

  test('shares its connection with every other node behind the same host', async () => {
    const many = Array.from({ length: 12 }, (_, index) => nodeAt(`${host.url}/${scrapyd.url}n-${index}/`))
    await Promise.all(many.map((client) => client.daemonStatus()))
    expect(host.connections()).toBeLessThanOrEqual(2)
    expect(new Set(scrapyd.requests.slice(-12).map(({ path }) => path)).size).toBe(12)
  })

  test('transfers large bodies both ways', async () => {
    const log = Buffer.alloc(3_000_000, 'a line of a log\n')
    answer = (request, response, socket) => {
      if (!request.path.startsWith('/logs/')) return STATUS(request, response, socket)
      const [, from = '0', to = ''] = /bytes=(\d+)-(\d*)/.exec(request.headers.range ?? '') ?? []
      const piece = log.subarray(Number(from), to === '' ? undefined : Number(to) + 1)
      response.writeHead(206, { 'content-range': `bytes ${from}-${Number(from) + piece.length - 1}/${log.length}` })
      response.end(piece)
    }
    const client = nodeBehind()
    const run = { project: 'p', spider: 's', jobid: 'j' } as Parameters<ScrapydClient['readLog']>[0]
    const range = await client.readLog(run, { offset: 0, limitBytes: log.length })
    expect(Buffer.compare(Buffer.from(range!.bytes), log)).toBe(0)
    answer = (request, response, socket) =>
      answerJson({ jobid: 'j', spiders: request.body.length })(request, response, socket)
    const args = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`a${index}`, 'x'.repeat(100_000)]))
    const order = { project: 'p', version: '1', spider: 's', jobid: 'j', settings: {}, args, priority: 0 }
    await client.schedule({ ...order, isVersionAsked: true, secretNames: [], limits: null } as unknown as Parameters<
      ScrapydClient['schedule']
    >[0])
    expect(scrapyd.requests.at(-1)!.body.length).toBeGreaterThan(900_000)
  })

  test('nothing listens there: the request is known not to have arrived, and the tunnel stays', async () => {
    const port = await freePort()
    const failure = await failureOf(nodeAt(`${host.url}/127.0.0.1:${port}`))
    expect([failure.kind, failure.delivered]).toEqual(['unreachable', 'no'])
    expect(failure.message).toContain(`could not connect to 127.0.0.1:${port} (Connection refused)`)
    expect(await nodeBehind().daemonStatus()).toMatchObject({ running: 1 })
  })

  test('a host that forwards nothing is reported with the settings responsible for it', async () => {
    const closed = await world.startServer({ settings: 'AllowTcpForwarding no' })
    closers.push(() => closed.kill())
    const failure = await failureOf(nodeBehind(closed))
    expect(failure.message).toContain(`does not allow connections to 127.0.0.1:${scrapyd.port}`)
    expect(failure.message).toContain('AllowTcpForwarding')
    expect(failure.delivered).toBe('no')
  })

  test('works with a key that only an agent can use', async () => {
    const key = world.makeKey('guarded', 'open sesame')
    const guarded = await world.startServer({ accepts: [key] })
    closers.push(() => guarded.kill())
    const refused = await probe(`${guarded.url}/${scrapyd.url}`)
    expect(refused).toMatchObject({ health: 'down', reachable: false })
    expect(refused.problem).toContain(`SSH host ${SSH_USER}@127.0.0.1 rejected the login (it accepts: publickey)`)
    expect(refused.problem).toContain('ssh-agent')
    world.startAgent(key, 'open sesame')
    // Repeating the request does not wait for the next attempt.
    expect(await probe(`${guarded.url}/${scrapyd.url}`)).toMatchObject({ health: 'up', running: 1 })
  })

  test('works through a jump host and an alias of ~/.ssh/config', async () => {
    const inside = await world.startServer()
    closers.push(() => inside.kill())
    const alias = `Host inside\nHostName 127.0.0.1\nPort ${inside.port}\nUser ${SSH_USER}\n`
    world.configure(`${alias}ProxyJump ${SSH_USER}@127.0.0.1:${host.port}\n`)
    const client = nodeAt(`ssh://inside/${scrapyd.url}`)
    expect(await client.daemonStatus()).toMatchObject({ running: 1 })
    expect([host.connections() > 0, inside.connections() > 0]).toEqual([true, true])
  })

  test('reports the jump host if that one has a changed host key', async () => {
    const jump = await world.startServer()
    closers.push(() => jump.kill())
    world.configure(
      `Host inside\nHostName 127.0.0.1\nPort ${host.port}\nProxyJump ${SSH_USER}@127.0.0.1:${jump.port}\n`
    )
    await jump.changeHostKey()
    const { problem } = await probe(`ssh://${SSH_USER}@inside/${scrapyd.url}`)
    expect(problem).toContain(`the host key of SSH host [127.0.0.1]:${jump.port} has changed`)
  })

  test('an unknown host key is never accepted, and says what to do', async () => {
    const strange = await world.startServer()
    closers.push(() => strange.kill())
    world.distrust(strange)
    world.configure('StrictHostKeyChecking no\n')
    const { problem, health } = await probe(`${strange.url}/${scrapyd.url}`)
    expect(health).toBe('down')
    expect(problem).toContain(`the host key of SSH host [127.0.0.1]:${strange.port} is not known here`)
    expect(problem).toContain(`connect once with ssh -l ${SSH_USER} -p ${strange.port} 127.0.0.1`)
  })

  test('a changed host key is never accepted; once it is known, the node responds', async () => {
    const server = await world.startServer()
    closers.push(() => server.kill())
    expect(await nodeBehind(server).daemonStatus()).toMatchObject({ running: 1 })
    await tunnels.stop()
    await server.changeHostKey()
    tunnels = openTunnels()
    const { problem } = await probe(`${server.url}/${scrapyd.url}`)
    expect(problem).toContain(`the host key of SSH host [127.0.0.1]:${server.port} has changed`)
    expect(problem).toContain(`ssh-keygen -R '[127.0.0.1]:${server.port}'`)
    world.trust(server)
    expect(await probe(`${server.url}/${scrapyd.url}`)).toMatchObject({ health: 'up' })
  })

  test('after a dropped connection, requests fail at once until it is back, without any action', async () => {
    const server = await world.startServer()
    closers.push(() => server.kill())
    const client = nodeBehind(server)
    await client.daemonStatus()
    const states: string[] = []
    client.tunnel!.watch(() => states.push(client.tunnel!.status().state))
    server.dropConnections()
    await until('the tunnel to be down', () => client.tunnel!.status().state === 'down')
    const begunAtMs = performance.now()
    const failure = await failureOf(client)
    expect(performance.now() - begunAtMs).toBeLessThan(300)
    expect([failure.kind, failure.delivered]).toEqual(['unreachable', 'no'])
    expect(failure.message).toMatch(/closed the connection\. Scrapdeck reconnects by itself/)
    await until('the tunnel to be up', () => client.tunnel!.status().state === 'up')
    expect(await client.daemonStatus()).toMatchObject({ running: 1 })
    expect(states).toEqual(['down', 'connecting', 'up'])
  })

  test('a warning of ssh during the login is not mistaken for the reason of a later end', async () => {
    const [open, user] = [world.makeKey('open-to-all'), join(world.directory, 'user')]
    const server = await world.startServer({ accepts: [open, user] })
    closers.push(() => server.kill())
    chmodSync(open, 0o644)
    world.configure(`IdentityFile ${open}\nIdentityFile ${user}\n`)
    const client = nodeBehind(server)
    await client.daemonStatus()
    server.dropConnections()
    await until('the tunnel to be down', () => client.tunnel!.status().state === 'down')
    expect(client.tunnel!.status().problem).toMatch(/closed the connection/)
  })

  test('a request that was under way when the connection dropped may have arrived', async () => {
    const server = await world.startServer()
    closers.push(() => server.kill())
    const arrived = Promise.withResolvers<void>()
    answer = () => arrived.resolve()
    const failure = failureOf(nodeBehind(server))
    await arrived.promise
    server.dropConnections()
    expect(await failure).toMatchObject({ kind: 'reset', delivered: 'unknown' })
  })

  test('a server that was not there at first is used once it is', async () => {
    const server = await world.startServer()
    closers.push(() => server.kill())
    await server.kill()
    const client = nodeBehind(server)
    const failure = await failureOf(client)
    expect(failure.message).toContain(`no SSH server listens on 127.0.0.1 port ${server.port}`)
    expect(client.tunnel!.status()).toMatchObject({ state: 'down' })
    await server.start()
    await until('the tunnel to be up', () => client.tunnel!.status().state === 'up')
    expect(await client.daemonStatus()).toMatchObject({ running: 1 })
  })

  test('a server that stops responding is noticed, and used again when it responds', async () => {
    const server = await world.startServer()
    closers.push(() => server.kill())
    const client = nodeBehind(server)
    await client.daemonStatus()
    server.pause()
    await until('the tunnel to be down', () => client.tunnel!.status().state === 'down', Boolean, 40_000)
    expect(client.tunnel!.status().problem).toMatch(/stopped responding/)
    server.resume()
    await until('the tunnel to be up', () => client.tunnel!.status().state === 'up', Boolean, 40_000)
    expect(await client.daemonStatus()).toMatchObject({ running: 1 })
  })

  test('a slow link is slow, and nothing else', async () => {
    const link = await startSlowLink(host.port, { bytesPerSecond: 100_000, delayMs: 150 })
    closers.push(() => link.stop())
    world.trust(host, { port: link.port })
    const found = await probe(`ssh://${SSH_USER}@127.0.0.1:${link.port}/${scrapyd.url}`)
    expect(found).toMatchObject({ health: 'up', running: 1 })
    expect(found.latencyMs).toBeGreaterThan(250)
  })

  test('a server that does not speak SSH is distinguished from one that does not exist', async () => {
    const { problem } = await probe(`ssh://${SSH_USER}@127.0.0.1:${scrapyd.port}/${scrapyd.url}`)
    expect(problem).toMatch(/closed the connection|did not answer|was not ready/)
  })

  test('without OpenSSH on this machine, the message says how to get it', async () => {
    const { problem } = await probe(`${host.url}/${scrapyd.url}`, openTunnels('/no/such/ssh'))
    expect(problem).toContain('OpenSSH is needed for this address, but /no/such/ssh cannot be started')
  })

  test('a configuration that ssh refuses is quoted', async () => {
    world.configure('NoSuchOption yes\n')
    const { problem } = await probe(`${host.url}/${scrapyd.url}`)
    expect(problem).toContain('Bad configuration option: nosuchoption')
  })

  test('ends its ssh when it is stopped', async () => {
    const server = await world.startServer()
    closers.push(() => server.kill())
    await nodeBehind(server).daemonStatus()
    expect(server.connections()).toBeGreaterThan(0)
    await tunnels.stop()
    await until('the connection to end', () => server.connections() === 0)
  })

  test('its ssh does not outlive a killed Scrapdeck', async () => {
    const server = await world.startServer()
    closers.push(() => server.kill())
    const script = join(world.directory, 'holds-a-tunnel.ts')
    const from = (path: string) => JSON.stringify(join(import.meta.dirname, path))
    writeFileSync(
      script,
      `import { SshTunnels } from ${from('ssh-tunnels.ts')}
       import { systemClock } from ${from('../../runtime/clock.ts')}
       import { systemRandom } from ${from('../../runtime/random.ts')}
       import { silentLogger } from ${from('../../runtime/logger.ts')}
       const parts = { clock: systemClock, random: systemRandom, logger: silentLogger }
       const tunnels = new SshTunnels({ program: ${JSON.stringify(world.program)}, ...parts })
       const host = { user: ${JSON.stringify(SSH_USER)}, host: '127.0.0.1', port: ${server.port} }
       const tunnel = tunnels.use(host)
       tunnel.watch(() => console.log(tunnel.status().state))
       setInterval(() => {}, 1000)`
    )
    const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.on('data', (piece) => (output += piece))
    await until('the tunnel to be up', () => output.includes('up'))
    expect(server.connections()).toBeGreaterThan(0)
    child.kill('SIGKILL')
    await until('its ssh to end', () => server.connections() === 0, Boolean, 5_000)
  })

  describe('where ssh cannot share a connection, as on Windows', () => {
    beforeEach(async () => {
      await tunnels.stop()
      tunnels = openTunnels(world.program, startUnshared)
    })

    test('each connection is a login, and errors are reported just as precisely', async () => {
      const closed = await world.startServer({ settings: 'PermitOpen 127.0.0.1:1' })
      closers.push(() => closed.kill())
      expect(await nodeBehind().daemonStatus()).toMatchObject({ running: 1 })
      const port = await freePort()
      const nobody = await failureOf(nodeAt(`${host.url}/127.0.0.1:${port}`))
      expect(nobody.message).toContain(`could not connect to 127.0.0.1:${port} (Connection refused)`)
      const forbidden = await failureOf(nodeBehind(closed))
      expect(forbidden.message).toContain('does not allow connections to')
      expect([nobody.delivered, forbidden.delivered]).toEqual(['no', 'no'])
      world.distrust(closed)
      await tunnels.stop()
      tunnels = openTunnels(world.program, startUnshared)
      expect((await probe(`${closed.url}/${scrapyd.url}`)).problem).toContain('is not known here')
      const missing = await probe(`${host.url}/${scrapyd.url}`, openTunnels('/no/such/ssh', startUnshared))
      expect(missing.problem).toContain('OpenSSH is needed for this address')
    })

    test('a dropped connection is noticed and restored, and nothing is left when it stops', async () => {
      const server = await world.startServer()
      closers.push(() => server.kill())
      const client = nodeBehind(server)
      await client.daemonStatus()
      server.dropConnections()
      await until('the tunnel to be down', () => client.tunnel!.status().state === 'down')
      expect((await failureOf(client)).delivered).toBe('no')
      await until('the tunnel to be up', () => client.tunnel!.status().state === 'up')
      expect(await client.daemonStatus()).toMatchObject({ running: 1 })
      await tunnels.stop()
      await until('the connections to end', () => server.connections() === 0)
    })
  })

  const [hosts, perHost] = pickLength([4, 10], [20, 10])
  test(`${hosts * perHost} nodes behind ${hosts} SSH hosts need ${hosts} connections`, async () => {
    const servers = await Promise.all(Array.from({ length: hosts }, () => world.startServer()))
    closers.push(() => Promise.all(servers.map((server) => server.kill())))
    const nodes = servers.flatMap((server, index) =>
      Array.from({ length: perHost }, (_, number) => nodeAt(`${server.url}/${scrapyd.url}h-${index}-${number}/`))
    )
    await Promise.all(nodes.map((node) => node.tunnel!.settled(AbortSignal.timeout(60_000))))
    const answers = await Promise.all(nodes.map((node) => node.daemonStatus()))
    expect(answers.filter(({ running }) => running === 1).length).toBe(hosts * perHost)
    expect(new Set(nodes.map((node) => node.tunnel!.status().host)).size).toBe(hosts)
    // Two processes per connection if sshd runs as root, otherwise one.
    expect(servers.every((server) => server.connections() <= 2)).toBe(true)
  })
})
