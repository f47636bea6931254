import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { FINALIZER } from '../job-manifest.ts'

interface FakeObject {
  kind: string
  metadata: {
    name: string
    uid: string
    creationTimestamp: string
    deletionTimestamp?: string
    labels?: Record<string, string>
    annotations?: Record<string, string>
    finalizers?: string[]
  }
  status?: Record<string, unknown>
}

/** Makes the next matching request fail: with a status, or without a response although the server acted. */
export type Fault = { on: RegExp; answer: number | 'lose' | 'close'; message?: string }

/** The API endpoints that we use, in memory. Lists have pages of two objects. e2e/kubernetes tests a real server. */
export async function startFakeCluster() {
  const objects = new Map<string, FakeObject>()
  const requests: string[] = []
  const faults: Fault[] = []
  const logs = new Map<string, string>()
  let uid = 0
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => handle(request, Buffer.concat(pieces).toString(), response))
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))

  function handle({ method = '', url = '' }: IncomingMessage, body: string, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(url, 'http://fake')
    requests.push(`${method} ${pathname}`)
    const at = faults.findIndex(({ on }) => on.test(`${method} ${url}`))
    const fault = at === -1 ? undefined : faults.splice(at, 1)[0]
    if (fault?.answer === 'close') return void response.destroy()
    const send = (status: number, value: unknown) => {
      if (fault?.answer === 'lose') return void response.destroy()
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    }
    const fail = (code: number, message: string) => send(code, { kind: 'Status', code, message, reason: 'Test' })
    if (typeof fault?.answer === 'number') return fail(fault.answer, fault.message ?? 'as the test wants it')
    const [, resource = '', name, sub] = /\/namespaces\/crawls\/(\w+)(?:\/([^/]+))?(?:\/(\w+))?$/.exec(pathname) ?? []
    const key = `${resource}/${name}`
    if (sub === 'log') {
      const text = logs.get(name ?? '')
      if (text === undefined) return fail(404, 'no log')
      response.writeHead(200, { 'content-type': 'text/plain' }).end(text)
      return
    }
    if (method === 'POST') {
      const made = JSON.parse(body) as FakeObject
      const madeKey = `${resource}/${made.metadata.name}`
      if (objects.has(madeKey)) return fail(409, 'already exists')
      put(resource, made)
      return send(201, made)
    }
    if (name === undefined) {
      const items = [...objects].filter(([one]) => one.startsWith(`${resource}/`)).map(([, one]) => one)
      const from = Number(searchParams.get('continue') ?? 0)
      const more = from + 2 < items.length ? { continue: String(from + 2) } : {}
      return send(200, { metadata: { resourceVersion: '7', ...more }, items: items.slice(from, from + 2) })
    }
    const found = objects.get(key)
    if (found === undefined) return fail(404, `${key} not found`)
    if (method === 'PATCH') found.metadata.finalizers = []
    if (method === 'DELETE' || (method === 'PATCH' && found.metadata.deletionTimestamp !== undefined)) {
      found.metadata.deletionTimestamp ??= '2026-01-01T00:00:00Z'
      if ((found.metadata.finalizers ?? []).length === 0) objects.delete(key)
    }
    send(200, found)
  }

  function put(resource: string, made: FakeObject): void {
    made.metadata.uid = `uid-${(uid += 1)}`
    made.metadata.creationTimestamp = `2026-01-01T00:00:${String(uid).padStart(2, '0')}Z`
    objects.set(`${resource}/${made.metadata.name}`, made)
  }

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1/namespaces/crawls/`,
    objects,
    requests,
    faults,
    logs,
    addPod(jobName: string, podName: string, status: Record<string, unknown>) {
      const { annotations, labels } = objects.get(`jobs/${jobName}`)!.metadata as Required<FakeObject['metadata']>
      const metadata = { name: podName, annotations, labels, finalizers: [FINALIZER] } as never
      put('pods', { kind: 'Pod', metadata, status })
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}
