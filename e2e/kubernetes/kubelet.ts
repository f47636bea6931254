import { type ChildProcess, spawn } from 'node:child_process'
import { createReadStream, createWriteStream, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { ClusterApi } from './cluster-api.ts'

interface Env {
  name: string
  value?: string
  valueFrom?: { secretKeyRef?: { name: string; key: string } }
}
interface Container {
  name: string
  image: string
  command?: string[]
  env?: Env[]
  envFrom?: { secretRef: { name: string } }[]
  volumeMounts?: { mountPath: string }[]
  resources?: { limits?: { memory?: string } }
}
interface Pod {
  metadata: {
    name: string
    namespace: string
    uid: string
    deletionTimestamp?: string
    deletionGracePeriodSeconds?: number
    finalizers?: string[]
  }
  spec: { initContainers?: Container[]; containers: Container[] }
  status: { phase: string }
}

interface State {
  waiting?: { reason: string; message?: string }
  running?: { startedAt: string }
  terminated?: { exitCode: number; reason: string; startedAt: string; finishedAt: string }
}

interface RunningPod {
  pod: Pod
  directory: string
  child: ChildProcess | null
  states: Map<string, State>
  /** The offset of a container's log file at its last rotation. Older lines are no longer served. */
  rotatedAt: Map<string, number>
  phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed'
  address: string | null
  isStopping: boolean
  isOver: boolean
}

export const MISSING_IMAGE = 'registry.invalid/missing:1'
export const SCRAPY_IMAGE = 'scrapy:test'

/**
 * Does what Scrapdeck's Jobs need from a kubelet, with processes instead of containers. Ends containers with TERM
 * and, after the grace period, KILL. Kills those that exceed their memory limit, and serves logs to the API server
 * over TLS. Does not run pods of other images: their init containers count as done, and they are ready until they are
 * deleted.
 */
export async function startKubelet(options: {
  api: ClusterApi
  name: string
  directory: string
  /** The program behind `python3` in every image. */
  python: string
  certificate: string
  key: string
  memory: string
}) {
  const { api, name, directory } = options
  const pods = new Map<string, RunningPod>()
  process.on('exit', () => {
    for (const { child } of pods.values()) child?.kill('SIGKILL')
  })
  let isClosed = false
  let addressesGiven = 0
  const server = createServer({ cert: options.certificate, key: options.key }, (request, response) => {
    const url = new URL(request.url ?? '/', 'https://kubelet')
    const [, kind, , podName, container] = url.pathname.split('/')
    const found = [...pods.values()].findLast(({ pod }) => pod.metadata.name === podName)
    const file = found === undefined ? '' : join(found.directory, `${container}.log`)
    if (kind !== 'containerLogs' || !existsSync(file)) {
      response.writeHead(kind === 'containerLogs' ? 404 : 400).end('no such log')
      return
    }
    const begin = found?.rotatedAt.get(container ?? '') ?? 0
    response.writeHead(200, { 'content-type': 'text/plain' })
    if (url.searchParams.get('follow') !== 'true') {
      createReadStream(file, { start: begin }).pipe(response)
      return
    }
    // A client that follows the log does not notice a rotation.
    let sent = begin
    const timer = setInterval(() => {
      const size = statSync(file).size
      if (size > sent) {
        response.write(readFileSync(file).subarray(sent, size))
        sent = size
      } else if (found?.states.get(container ?? '')?.terminated !== undefined) response.end()
    }, 50)
    response.on('close', () => clearInterval(timer))
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo

  await api.put('POST', 'api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/hostname': name } }
  })
  const beat = () => {
    const resources = { cpu: '8', memory: options.memory, pods: '50' }
    const now = new Date().toISOString().replace(/\.\d+/, '')
    const condition = {
      type: 'Ready',
      status: 'True',
      reason: 'StandIn',
      lastHeartbeatTime: now,
      lastTransitionTime: now
    }
    const status = {
      capacity: resources,
      allocatable: resources,
      conditions: [condition],
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } }
    }
    return api.patch(`api/v1/nodes/${name}/status`, { status })
  }
  await beat()
  let lastBeatMs = Date.now()

  const loop = (async () => {
    while (!isClosed) {
      try {
        if (Date.now() - lastBeatMs > 5_000) {
          await beat()
          lastBeatMs = Date.now()
        }
        const listed = (await api.get(`api/v1/pods?fieldSelector=spec.nodeName%3D${name}`)) as { items: Pod[] }
        const uids = new Set(listed.items.map((pod) => pod.metadata.uid))
        for (const [uid, { child }] of pods) {
          if (uids.has(uid)) continue
          child?.kill('SIGKILL')
          pods.delete(uid)
        }
        for (const pod of listed.items) consider(pod)
      } catch {
        // The API server is restarting. A kubelet waits for it.
      }
      await new Promise((resolve) => setTimeout(resolve, 150))
    }
  })()

  function consider(pod: Pod): void {
    const { uid } = pod.metadata
    let one = pods.get(uid)
    if (one === undefined) {
      if (pod.status.phase === 'Succeeded' || pod.status.phase === 'Failed') return
      one = {
        pod,
        directory: join(directory, uid),
        child: null,
        states: new Map(),
        rotatedAt: new Map(),
        phase: 'Pending',
        address: null,
        isStopping: false,
        isOver: false
      }
      pods.set(uid, one)
      const started = one
      void run(started)
        .catch((error: unknown) => console.log(`! The stand-in kubelet: ${pod.metadata.name}: ${String(error)}`))
        .finally(() => (started.isOver = true))
    }
    one.pod = pod
    if (pod.metadata.deletionTimestamp === undefined) return
    const graceMs = (pod.metadata.deletionGracePeriodSeconds ?? 30) * 1000
    if (one.child !== null && !one.isStopping) {
      one.isStopping = true
      one.child.kill('SIGTERM')
    }
    const { child } = one
    if (child !== null && Date.parse(pod.metadata.deletionTimestamp) <= Date.now() + (graceMs <= 1_000 ? 1_000 : 0)) {
      child.kill('SIGKILL')
    }
    // Deletes the pod from the API. A pod with a finalizer remains even then.
    if (one.isOver && graceMs > 0) void api.remove(`${pathOf(pod)}?gracePeriodSeconds=0`).catch(() => {})
  }

  async function run(one: RunningPod): Promise<void> {
    mkdirSync(join(one.directory, 'volume'), { recursive: true })
    const { initContainers = [], containers } = one.pod.spec
    if (containers[0]!.image === MISSING_IMAGE) {
      one.states.set(containers[0]!.name, {
        waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image' }
      })
      await report(one)
      while (one.pod.metadata.deletionTimestamp === undefined && !isClosed) await new Promise((r) => setTimeout(r, 100))
      one.phase = 'Failed'
      await report(one)
      return
    }
    if (containers[0]!.image !== SCRAPY_IMAGE) {
      const now = whole(new Date().toISOString())
      const done = { exitCode: 0, reason: 'Completed', startedAt: now, finishedAt: now }
      for (const container of initContainers) one.states.set(container.name, { terminated: done })
      for (const container of containers) one.states.set(container.name, { running: { startedAt: now } })
      one.phase = 'Running'
      one.address = `10.1.0.${(addressesGiven = (addressesGiven % 250) + 1)}`
      await report(one)
      while (one.pod.metadata.deletionTimestamp === undefined && !isClosed) await new Promise((r) => setTimeout(r, 100))
      return
    }
    for (const container of initContainers) {
      if ((await runContainer(one, container)) === 0) continue
      one.phase = 'Failed'
      await report(one)
      return
    }
    one.phase = 'Running'
    const code = await runContainer(one, containers[0]!)
    one.phase = code === 0 ? 'Succeeded' : 'Failed'
    await report(one)
  }

  async function runContainer(one: RunningPod, container: Container): Promise<number> {
    const env: Record<string, string> = { PATH: process.env['PATH'] ?? '' }
    const volume = join(one.directory, 'volume')
    const secretOf = async (secret: string) => {
      const path = `api/v1/namespaces/${one.pod.metadata.namespace}/secrets/${secret}`
      const { data } = (await api.get(path)) as { data: Record<string, string> }
      return Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64').toString()] as const)
    }
    for (const { secretRef } of container.envFrom ?? []) {
      for (const [key, value] of await secretOf(secretRef.name)) env[key] = value
    }
    for (const { name: key, value, valueFrom } of container.env ?? []) {
      const ref = valueFrom?.secretKeyRef
      const text = ref === undefined ? (value ?? '') : (Object.fromEntries(await secretOf(ref.name))[ref.key] ?? '')
      const isMount = container.volumeMounts?.some(({ mountPath }) => mountPath === text)
      env[key] = isMount ? volume : text.replaceAll('$$', '$')
    }
    const [program = '', ...words] = container.command ?? []
    const log = createWriteStream(join(one.directory, `${container.name}.log`))
    await new Promise((resolve) => log.once('open', resolve))
    const startedAt = new Date().toISOString()
    const child = spawn(program === 'python3' ? options.python : program, words, {
      cwd: one.directory,
      env,
      stdio: ['ignore', 'pipe', 'pipe']
    })
    one.child = child
    child.stdout.pipe(log, { end: false })
    child.stderr.pipe(log, { end: false })
    one.states.set(container.name, { running: { startedAt } })
    let isOutOfMemory = false
    const limit = bytesOf(container.resources?.limits?.memory)
    const watch = setInterval(() => {
      if (limit === null || isOutOfMemory || residentBytes(child.pid) <= limit) return
      isOutOfMemory = true
      child.kill('SIGKILL')
    }, 50)
    const ended = new Promise<number>((resolve) => {
      child.on('close', (code, signal) => resolve(code ?? (signal === 'SIGKILL' ? 137 : 143)))
      child.on('error', () => resolve(127))
    })
    await report(one)
    const exitCode = await ended
    clearInterval(watch)
    one.child = null
    await new Promise((resolve) => log.end(resolve))
    const reason = isOutOfMemory ? 'OOMKilled' : exitCode === 0 ? 'Completed' : 'Error'
    const terminated = { exitCode, reason, startedAt: whole(startedAt), finishedAt: whole(new Date().toISOString()) }
    one.states.set(container.name, { terminated })
    return exitCode
  }

  async function report(one: RunningPod): Promise<void> {
    const { initContainers = [], containers } = one.pod.spec
    const statusOf = ({ name: container, image }: Container) => {
      const state = one.states.get(container) ?? { waiting: { reason: 'PodInitializing' } }
      if (state.running !== undefined) state.running.startedAt = whole(state.running.startedAt)
      return { name: container, image, imageID: '', restartCount: 0, ready: state.running !== undefined, state }
    }
    const ready = {
      status: one.address === null ? 'False' : 'True',
      lastTransitionTime: whole(new Date().toISOString())
    }
    const status = {
      phase: one.phase,
      ...(one.address !== null && { podIP: one.address, podIPs: [{ ip: one.address }] }),
      conditions: ['Ready', 'ContainersReady'].map((type) => ({ type, ...ready })),
      initContainerStatuses: initContainers.map(statusOf),
      containerStatuses: containers.map(statusOf)
    }
    for (let tries = 0; tries < 200 && !isClosed; tries += 1) {
      try {
        await api.patch(`${pathOf(one.pod)}/status`, { status })
        return
      } catch (error) {
        if (String(error).includes(' 404')) return
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }
  }

  return {
    port,
    runningCount: () => [...pods.values()].filter(({ child }) => child !== null).length,
    /** Simulates the rotation at `containerLogMaxSize`: from now on, the log starts here. */
    rotateLog(podName: string) {
      const one = [...pods.values()].find(({ pod }) => pod.metadata.name === podName)
      const container = one?.pod.spec.containers[0]?.name
      if (one === undefined || container === undefined) throw new Error(`There is no pod ${podName}`)
      one.rotatedAt.set(container, statSync(join(one.directory, `${container}.log`)).size)
    },
    pidOf: (podName: string) => [...pods.values()].find(({ pod }) => pod.metadata.name === podName)?.child?.pid ?? null,
    async stop() {
      isClosed = true
      for (const { child } of pods.values()) child?.kill('SIGKILL')
      await loop
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

const pathOf = ({ metadata }: Pod) => `api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`
const whole = (time: string) => time.replace(/\.\d+/, '')

function bytesOf(quantity: string | undefined): number | null {
  const [, digits, unit] = /^(\d+)([KMG]i)?$/.exec(quantity ?? '') ?? []
  const units: Record<string, number> = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 }
  return digits === undefined ? null : Number(digits) * (unit === undefined ? 1 : units[unit]!)
}

function residentBytes(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * 4096
  } catch {
    return 0
  }
}
