/**
 * Tests jobs on a real Kubernetes API with a stand-in kubelet. With arguments, `npm run test:kubernetes` runs only
 * the cases whose names contain one of them.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import { showFailure } from '../../scripts/setup/steps.mjs'
import { stopOnSignals } from '../../scripts/setup/stop-on-signals.mjs'
import { readTestEnvironment } from '../../scripts/setup/test-environment.mjs'
import { until } from '../../src/engine/testing/until.ts'
import { NODE_LABEL } from '../../src/engine/nodes/kubernetes/job-manifest.ts'
import type { JobId, KubernetesSettings, Node } from '../../src/shared/contract/index.ts'
import { jobNameOf } from '../../src/engine/nodes/kubernetes/job-manifest.ts'
import { aProjectName } from '../../src/shared/testing/ids.ts'
import { uploadDemo } from '../support/demo-egg.ts'
import { type Service, startService } from '../support/service.ts'
import { CHART_CASES } from './chart.ts'
import { type Cluster, startCluster, TOKENS } from './control-plane.ts'
import { MISSING_IMAGE, SCRAPY_IMAGE } from './kubelet.ts'
import { startFaultyProxy } from './faulty-proxy.ts'

const LIMIT_MS = 180_000
const NAMESPACE = 'crawls'
const SETTINGS = {
  tokenFile: null,
  caFile: null,
  graceSeconds: 10,
  quota: null,
  projects: {},
  pod: { image: SCRAPY_IMAGE, cpu: '100m', memory: '256Mi' }
}

interface World {
  cluster: Cluster
  service: Service
  node: Node
  proxy: Awaited<ReturnType<typeof startFaultyProxy>>
  directory: string
}

type Spec = {
  spider?: string
  args?: Record<string, string>
  settings?: Record<string, string>
  secretNames?: string[]
}

async function order({ service }: World, spec: Spec = {}): Promise<JobId> {
  const { spider = 'quotes', args = {}, settings = {}, secretNames = [] } = spec
  const { jobs } = await service.client.jobs.run({
    project: aProjectName('demo'),
    spiders: [spider],
    args: { delay: '0.05', ...args },
    settings,
    secretNames,
    tags: ['cluster']
  })
  return jobs[0]!.id
}

/** Each run adds a line to a file, independently of what the cluster and Scrapdeck observe. */
function countRuns({ directory }: World, name: string) {
  const file = join(directory, `${name}.runs`)
  return {
    args: { touch_file: file },
    require(expected: number): void {
      const lines = readFileSync(file, 'utf8').trim().split('\n')
      assert.equal(lines.length, expected, `${lines.length} runs began`)
      assert.equal(new Set(lines).size, expected, 'a job ran twice')
    }
  }
}

const jobOf = ({ service }: World, id: JobId) => service.client.jobs.get({ id })

const ended = (world: World, id: JobId) =>
  until(
    `job ${id} to end`,
    () => jobOf(world, id),
    ({ job }) => job.state === 'ended',
    LIMIT_MS
  )

const running = (world: World, id: JobId) =>
  until(
    `job ${id} to run`,
    () => jobOf(world, id),
    ({ job }) => job.state === 'running',
    LIMIT_MS
  )

const jobsOfCluster = async ({ cluster }: World) =>
  ((await cluster.api.get(`apis/batch/v1/namespaces/${NAMESPACE}/jobs`)) as { items: { metadata: { name: string } }[] })
    .items

interface PodOfCluster {
  metadata: { name: string; labels: Record<string, string>; annotations: Record<string, string>; finalizers?: string[] }
  spec: Record<string, unknown>
}
const podsOf = async ({ cluster }: World) =>
  ((await cluster.api.get(`api/v1/namespaces/${NAMESPACE}/pods`)) as { items: PodOfCluster[] }).items

async function podOf(world: World, id: JobId): Promise<PodOfCluster> {
  const isOfJob = ({ metadata }: PodOfCluster) => metadata.annotations['scrapdeck.dev/run']?.includes(id) === true
  const found = await until('its pod', async () => (await podsOf(world)).find(isOfJob), Boolean, LIMIT_MS)
  return found!
}

const logOf = async ({ service }: World, jobId: JobId) => {
  // A run that has not started has no log.
  const read = service.client.logs.read({ jobId, offset: 0, limitBytes: 1_000_000 })
  return read.then(
    ({ text }) => text,
    () => ''
  )
}

const CASES: Record<string, (world: World) => Promise<void>> = {
  async 'a run ends well, with its log, and leaves nothing behind'(world) {
    const id = await order(world, { args: { password: 'a secret of ours' }, secretNames: ['password'] })
    await until(
      'its Job',
      () => jobsOfCluster(world),
      (jobs) => jobs.length === 1,
      LIMIT_MS
    )
    assert.ok(!JSON.stringify(await jobsOfCluster(world)).includes('a secret of ours'), 'the Job shows a secret value')
    const { job } = await ended(world, id)
    assert.equal(job.outcome, 'succeeded')
    assert.ok(job.items! > 0)
    const log = await logOf(world, id)
    assert.match(log, /Spider closed \(finished\)/)
    await until(
      'the Job to be deleted',
      () => jobsOfCluster(world),
      (jobs) => jobs.length === 0,
      LIMIT_MS
    )
    await until(
      'the pod to be deleted',
      () => podsOf(world),
      (pods) => pods.length === 0,
      LIMIT_MS
    )
    assert.match(await logOf(world, id), /Spider closed \(finished\)/)
  },

  async 'a spider that breaks fails, with its exit code'(world) {
    const { job, attempts } = await ended(world, await order(world, { spider: 'broken' }))
    assert.equal(job.outcome, 'failed')
    assert.equal(attempts.at(-1)!.exitCode, 1)
  },

  async 'a killed spider fails with its signal'(world) {
    const id = await order(world, { spider: 'slow' })
    await running(world, id)
    const pid = world.cluster.kubelet.pidOf((await podOf(world, id)).metadata.name)
    process.kill(pid!, 'SIGKILL')
    const { job, attempts } = await ended(world, id)
    assert.equal(job.outcome, 'failed')
    assert.equal(attempts.at(-1)!.signal, 'KILL')
  },

  async 'a run over its memory limit fails with that reason'(world) {
    const tight: KubernetesSettings = { ...settingsOf(world), pod: { ...SETTINGS.pod, memory: '16Mi' } }
    await world.service.client.nodes.update({ id: world.node.id, kubernetes: tight })
    const { job, attempts } = await ended(world, await order(world))
    assert.equal(job.outcome, 'failed')
    assert.match(JSON.stringify(attempts.at(-1)), /memory limit of its pod/)
  },

  async 'a cancelled run finishes in its grace time'(world) {
    const id = await order(world, { spider: 'slow' })
    await running(world, id)
    await until(
      'its first pages',
      () => logOf(world, id),
      (log) => log.includes('Spider opened'),
      LIMIT_MS
    )
    await world.service.client.jobs.cancel({ ids: [id] })
    const { job } = await ended(world, id)
    assert.equal(job.outcome, 'cancelled')
    assert.match(await logOf(world, id), /Spider closed \(shutdown\)/)
    assert.equal(world.cluster.kubelet.runningCount(), 0)
  },

  async 'a pending pod tells why, and can be cancelled'(world) {
    const missing = { ...settingsOf(world), pod: { ...SETTINGS.pod, image: MISSING_IMAGE } }
    await world.service.client.nodes.update({ id: world.node.id, kubernetes: missing })
    const pulls = await order(world)
    await until(
      'its reason',
      () => jobOf(world, pulls),
      ({ job }) => /ImagePullBackOff/.test(job.waiting?.text ?? ''),
      LIMIT_MS
    )
    const huge = { ...settingsOf(world), pod: { ...SETTINGS.pod, memory: '64Gi' } }
    await world.service.client.nodes.update({ id: world.node.id, kubernetes: huge })
    const fits = await order(world)
    await until(
      'its reason',
      () => jobOf(world, fits),
      ({ job }) => /Insufficient memory/.test(job.waiting?.text ?? ''),
      LIMIT_MS
    )
    await world.service.client.jobs.cancel({ ids: [pulls, fits] })
    for (const id of [pulls, fits]) assert.equal((await ended(world, id)).job.outcome, 'cancelled')
    await until(
      'the pods to be deleted',
      () => podsOf(world),
      (pods) => pods.length === 0,
      LIMIT_MS
    )
  },

  async 'a ResourceQuota gives the slots, and says why no pod starts'(world) {
    await world.cluster.api.put('POST', `api/v1/namespaces/${NAMESPACE}/resourcequotas`, {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'crawl-quota' },
      spec: { hard: { pods: '3', 'requests.memory': '512Mi' } }
    })
    try {
      await world.service.client.nodes.update({
        id: world.node.id,
        slots: null,
        kubernetes: { ...settingsOf(world), quota: 'crawl-quota' }
      })
      const get = () => world.service.client.nodes.get({ id: world.node.id })
      const node = await until('its slots', get, ({ slots }) => slots === 2, LIMIT_MS)
      assert.match(node.slotsText, /ResourceQuota crawl-quota \(requests.memory\)/)
      // The quota has no room for all pods: the API server accepts the third Job but refuses its pod.
      await world.service.client.nodes.update({ id: world.node.id, slots: 3 })
      const ids = [await slow(world), await slow(world), await slow(world)]
      const waits = async () =>
        (await Promise.all(ids.map((id) => jobOf(world, id)))).map(({ job }) => job.waiting?.text)
      await until('the quota', waits, (texts) => texts.some((text) => /exceeded quota/.test(text ?? '')), LIMIT_MS)
      await world.service.client.jobs.cancel({ ids, force: true })
      for (const id of ids) await ended(world, id)
    } finally {
      await world.cluster.api.remove(`api/v1/namespaces/${NAMESPACE}/resourcequotas/crawl-quota`)
    }
  },

  async 'kill -9 of the service: its runs are adopted, none runs twice'(world) {
    const runs = countRuns(world, 'killed')
    const args = { pages: '30', ...runs.args }
    const ids = await Promise.all(Array.from({ length: 6 }, () => order(world, { args })))
    await running(world, ids[0]!)
    await world.service.kill()
    await new Promise((wake) => setTimeout(wake, 1_000))
    await world.service.start()
    for (const id of ids) {
      const { job, attempts } = await ended(world, id)
      assert.equal(job.outcome, 'succeeded')
      assert.equal(attempts.length, 1, `${id} had ${attempts.length} attempts`)
      assert.equal(job.mayHaveRunTwice, false)
    }
    runs.require(ids.length)
  },

  async 'the API server restarts during runs'(world) {
    const runs = countRuns(world, 'restarted')
    const args = { pages: '60', ...runs.args }
    const ids = await Promise.all(Array.from({ length: 3 }, () => order(world, { args })))
    await running(world, ids[0]!)
    await world.cluster.killApiServer()
    await new Promise((wake) => setTimeout(wake, 3_000))
    await world.cluster.startApiServer()
    for (const id of ids) {
      const { job, attempts } = await ended(world, id)
      assert.equal(job.outcome, 'succeeded')
      assert.equal(attempts.length, 1)
    }
    runs.require(ids.length)
  },

  async 'lost answers, repeated requests, 410 and watches that hang'(world) {
    world.proxy.begin()
    try {
      const runs = countRuns(world, 'faults')
      const ids = await Promise.all(Array.from({ length: 10 }, () => order(world, { args: runs.args })))
      for (const id of ids) {
        const { job, attempts } = await ended(world, id)
        assert.equal(job.outcome, 'succeeded')
        assert.equal(attempts.length, 1)
        assert.equal(job.mayHaveRunTwice, false)
      }
      runs.require(ids.length)
      const { counts } = world.proxy
      for (const [fault, count] of Object.entries(counts)) assert.ok(count > 0, `${fault} never happened`)
    } finally {
      world.proxy.end()
    }
  },

  async 'a missing right is named'(world) {
    const { service, cluster } = world
    const address = { ...addressOf(world), password: TOKENS.nobody, kubernetes: settingsOf(world) }
    const found = await service.client.nodes.probe(address)
    assert.equal(found.health, 'invalid')
    assert.match(found.problem!, /lacks a right: create jobs \(batch\) in the namespace crawls/)
    const wrong = await service.client.nodes.probe({ ...address, password: 'no such token' })
    assert.equal(wrong.health, 'unauthorized')
    const untrusted = await service.client.nodes.probe({
      ...address,
      caCertificate: null,
      url: `${cluster.server}${PATH}`
    })
    assert.equal(untrusted.health, 'down')
  },

  async 'two pods of one Job are flagged'(world) {
    const id = await slow(world)
    await running(world, id)
    const { metadata, spec } = await podOf(world, id)
    const { nodeName: _node, ...rest } = spec
    // Leaves out the Job's labels, because the Job's controller would adopt the pod and delete it as surplus.
    const labels = Object.fromEntries(Object.entries(metadata.labels).filter(([name]) => name === NODE_LABEL))
    await world.cluster.api.put('POST', `api/v1/namespaces/${NAMESPACE}/pods`, {
      apiVersion: 'v1',
      kind: 'Pod',
      spec: rest,
      metadata: { name: 'second', labels, annotations: metadata.annotations }
    })
    await until(
      'the flag',
      () => jobOf(world, id),
      ({ job }) => job.mayHaveRunTwice,
      LIMIT_MS
    )
    await world.service.client.jobs.cancel({ ids: [id], force: true })
    await ended(world, id)
  },

  async 'somebody deletes the Job: the log is kept'(world) {
    const id = await slow(world)
    await running(world, id)
    await until(
      'its log',
      () => logOf(world, id),
      (log) => log.includes('Spider opened'),
      LIMIT_MS
    )
    const { project, jobid } = (await jobOf(world, id)).job
    await world.cluster.api.remove(
      `apis/batch/v1/namespaces/${NAMESPACE}/jobs/${jobNameOf({ project, jobid })}?propagationPolicy=Background`
    )
    await ended(world, id)
    assert.match(await logOf(world, id), /Spider closed \(shutdown\)/)
  },

  async 'a log that the kubelet rotates keeps what was read, and says so'(world) {
    const id = await slow(world)
    const untilTick = (tick: number) =>
      until(
        `tick ${tick}`,
        () => logOf(world, id),
        (log) => log.includes(`Tick ${tick}`),
        LIMIT_MS
      )
    await running(world, id)
    await untilTick(2)
    world.cluster.kubelet.rotateLog((await podOf(world, id)).metadata.name)
    const before = await untilTick(4)
    await world.service.client.jobs.cancel({ ids: [id] })
    await ended(world, id)
    const log = await logOf(world, id)
    assert.ok(log.startsWith(before), 'what was read before the rotation has changed')
    assert.match(log, /The kubelet rotated this log/)
    assert.match(log, /Spider closed \(shutdown\)/)
  },

  ...CHART_CASES
}

const slow = (world: World) => order(world, { spider: 'slow' })
const PATH = `/api/v1/namespaces/${NAMESPACE}`
const settingsOf = ({ service }: World): KubernetesSettings => ({ ...SETTINGS, engineUrl: service.address })
const addressOf = ({ proxy, cluster }: Pick<World, 'proxy' | 'cluster'>) => ({
  url: `${proxy.address}${PATH}`,
  password: TOKENS.scrapdeck,
  caCertificate: cluster.caCertificate
})

async function openWorld(directory: string, parts: AsyncDisposableStack): Promise<World> {
  const { python } = readTestEnvironment()
  const cluster = parts.adopt(await startCluster(join(directory, 'cluster'), python!), ({ stop }) => stop())
  const faulty = { target: cluster.server, directory: cluster.directory }
  const proxy = parts.adopt(await startFaultyProxy(faulty), ({ stop }) => stop())
  const { api } = cluster
  await api.put('POST', 'api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } })
  // Uses the role from the documentation to prove that it is correct.
  const documentation = readFileSync(resolve(import.meta.dirname, '../../docs/kubernetes.md'), 'utf8')
  const role = parse(/```yaml\n([\s\S]*?)```/.exec(documentation)![1]!.replace(/^ {3}/gm, ''))
  const rbac = `apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}`
  await api.put('POST', `${rbac}/roles`, role)
  await api.put('POST', `${rbac}/rolebindings`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'scrapdeck' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'scrapdeck' },
    subjects: [{ kind: 'User', name: 'scrapdeck', apiGroup: 'rbac.authorization.k8s.io' }]
  })
  await until(
    'the default service account',
    () =>
      api.get(`api/v1/namespaces/${NAMESPACE}/serviceaccounts/default`).then(
        () => true,
        () => false
      ),
    Boolean,
    LIMIT_MS
  )
  const service = await startService({ localSlots: 1, dataDirectory: join(directory, 'data') })
  parts.adopt(service, ({ stop }) => stop())
  await uploadDemo(service, '1.0')
  const node = await service.client.nodes.add({
    ...addressOf({ proxy, cluster }),
    name: 'cluster',
    tags: ['cluster'],
    slots: 8,
    kubernetes: { ...SETTINGS, engineUrl: service.address }
  })
  const world = { cluster, service, node, proxy, directory }
  await until(
    'the cluster to be up',
    () => service.client.nodes.get({ id: node.id }),
    ({ health }) => health === 'up',
    LIMIT_MS
  )
  return world
}

const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-kubernetes-'))
const parts = new AsyncDisposableStack()
let failed = 0
const endWith = stopOnSignals(async () => {
  await parts.disposeAsync()
  if (failed === 0) rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
  else console.log(`The files are in ${directory}`)
})

async function main(words: string[]): Promise<void> {
  const beganAt = performance.now()
  const world = await openWorld(directory, parts)
  console.log(`✓ the cluster is up (${secondsSince(beganAt)})`)
  let passed = 0
  for (const [name, run] of Object.entries(CASES)) {
    if (words.length > 0 && !words.some((word) => name.includes(word))) continue
    const begunAt = performance.now()
    try {
      await world.service.client.nodes.update({ id: world.node.id, slots: 8, kubernetes: settingsOf(world) })
      await run(world)
      passed += 1
      console.log(`✓ ${name} (${secondsSince(begunAt)})`)
    } catch (error) {
      failed += 1
      console.log(`✗ ${name} (${secondsSince(begunAt)})\n${error instanceof Error ? error.stack : String(error)}`)
    }
  }
  if (failed > 0) console.log(world.service.output().slice(-6_000))
  console.log(`${passed} passed, ${failed} failed`)
  if (passed + failed === 0) throw new Error(`No case has a name with ${words.join(' or ')}`)
}

const secondsSince = (beganAt: number) => `${((performance.now() - beganAt) / 1000).toFixed(1)} s`

try {
  await main(process.argv.slice(2))
} catch (error) {
  failed += 1
  showFailure(error)
}
await endWith(failed > 0 ? 1 : 0)
