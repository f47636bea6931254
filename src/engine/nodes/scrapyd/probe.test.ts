import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../runtime/clock.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { answerJson, type Script, startScriptedHttpNode } from '../../testing/scripted-http-node.ts'
import { plain } from '../../../shared/texts/message.ts'
import { healthOf, NodeError, type NodeErrorKind } from '../node-client.ts'
import { probeNode } from './probe.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

const listed = { pending: [], running: [], finished: [] }
const finished = { id: 'a', project: 'p', spider: 's', start_time: 'x', end_time: 'y' }

/** A node with the given responses to `OPTIONS` and listjobs.json, which differ between versions. */
function scrapyd(optionsStatus: number, listJobs: Record<string, unknown>): Script {
  return (request, response, socket) => {
    if (request.method === 'OPTIONS') return void response.writeHead(optionsStatus).end()
    const answers: Record<string, Record<string, unknown>> = {
      '/daemonstatus.json': { pending: 4, running: 2, finished: 9 },
      '/listprojects.json': { projects: ['shop'] },
      '/listjobs.json': listJobs
    }
    return answerJson({ node_name: 'eu-1', ...answers[request.path] })(request, response, socket)
  }
}

async function probe(script: Script, address: { username?: string; password?: string } = {}) {
  const node = await startScriptedHttpNode(script)
  closers.push(node.close)
  const limits = { daemonStatusMs: 300 }
  const url = node.url.replace(/\/$/, '')
  return probeNode({ address: { url, ...address }, clock: systemClock, logger: silentLogger, limits })
}

describe('a probe', () => {
  test('of a working node shows everything', async () => {
    const result = await probe(scrapyd(204, listed), { username: 'u', password: 'p' })
    expect(result).toEqual({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/$/),
      reachable: true,
      health: 'up',
      problem: null,
      scrapydVersion: '1.5+',
      nodeName: 'eu-1',
      running: 2,
      pending: 4,
      projects: ['shop'],
      latencyMs: expect.any(Number),
      clockOffsetMs: expect.any(Number),
      warnings: []
    })
  })

  test.each([
    ['1.2', { status: 'error', message: "'project'" }],
    ['1.3', { ...listed, finished: [finished] }],
    ['1.4', { ...listed, finished: [{ ...finished, log_url: '/logs/p/s/a.log' }] }],
    ['1.3 or 1.4', listed]
  ])('identifies %s by its job list', async (version, listJobs) => {
    expect((await probe(scrapyd(200, listJobs))).scrapydVersion).toBe(version)
  })

  test.each<[string, Script, object]>([
    [
      'without a password that is asked for',
      (_r, response) => void response.writeHead(401).end(),
      { health: 'unauthorized', reachable: true }
    ],
    ['of another web server', (_r, response) => void response.end('<html>'), { health: 'invalid', reachable: true }],
    ...[502, 503, 504].map((status): [string, Script, object] => [
      `of a stopped Scrapyd behind a proxy that answers ${status}`,
      (_r, response) =>
        void response.writeHead(status, { 'content-type': 'text/html' }).end('<html>Bad Gateway</html>'),
      { health: 'down', reachable: false }
    ]),
    [
      'of a path that a proxy lacks',
      (_r, response) => void response.writeHead(404).end('<html>'),
      { health: 'invalid' }
    ],
    ['of a node that hangs', () => {}, { health: 'down', reachable: false }],
    ['of a node that hangs up', (_r, _response, socket) => void socket.destroy(), { health: 'down', reachable: false }]
  ])('%s says what is wrong', async (_name, script, expected) => {
    expect(await probe(script)).toMatchObject({
      ...expected,
      problem: expect.stringContaining('Node 127.0.0.1 ('),
      scrapydVersion: null
    })
  })

  test('takes credentials from the address unless others are given, and keeps them out of the url', async () => {
    const node = await startScriptedHttpNode(scrapyd(204, listed))
    closers.push(node.close)
    const url = `http://u:p@127.0.0.1:${node.port}`
    const common = { clock: systemClock, logger: silentLogger }
    expect((await probeNode({ address: { url }, ...common })).url).toBe(node.url)
    expect(node.requests[0]?.headers.authorization).toBe(`Basic ${btoa('u:p')}`)
    await probeNode({ address: { url, username: 'x', password: 'y' }, ...common })
    expect(node.requests.at(-1)?.headers.authorization).toBe(`Basic ${btoa('x:y')}`)
  })

  test('warns of connections that others can read and of nodes without a password', async () => {
    const aborted = AbortSignal.abort()
    const common = { clock: systemClock, logger: silentLogger, signal: aborted }
    const warningsOf = async (url: string) => (await probeNode({ address: { url }, ...common })).warnings
    expect(await warningsOf('10.0.0.5')).toEqual([
      expect.stringMatching(/not encrypted/),
      expect.stringMatching(/No password/)
    ])
    expect(await warningsOf('u:p@10.0.0.5')).toEqual([expect.stringMatching(/can read the password/)])
    expect(await warningsOf('https://u:p@eu-1')).toEqual([])
    expect(await warningsOf('localhost')).toEqual([expect.stringMatching(/No password/)])
  })

  test('throws for an invalid address', async () => {
    const probing = probeNode({ address: { url: 'ftp://x' }, clock: systemClock, logger: silentLogger })
    await expect(probing).rejects.toMatchObject({ code: 'NODE_URL_INVALID' })
  })
})

test('each kind of failure maps to a health state', () => {
  const kinds: Record<NodeErrorKind, string> = {
    unreachable: 'down',
    timeout: 'down',
    reset: 'down',
    unauthorized: 'unauthorized',
    forbidden: 'invalid',
    http: 'invalid',
    not_scrapyd: 'invalid',
    too_large: 'invalid',
    refused: 'invalid',
    aborted: 'unknown'
  }
  for (const [kind, health] of Object.entries(kinds)) {
    expect(healthOf(new NodeError(kind as NodeErrorKind, plain(''), { delivered: 'no' }))).toBe(health)
  }
})
