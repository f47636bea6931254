import { inWords } from '../../../shared/testing/in-words.ts'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { KubernetesSettings, type ProjectName, type VersionName } from '../../../shared/contract/index.ts'
import { systemClock } from '../../runtime/clock.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { until } from '../../testing/until.ts'
import { healthOf, type LogRange, type NodeError } from '../node-client.ts'
import { toClientError } from '../node-failure.ts'
import { CredentialFiles } from './credential-files.ts'
import { EggLinks } from './egg-links.ts'
import { jobNameOf, manifestsOf } from './job-manifest.ts'
import { EventLines } from './job-watch.ts'
import { readKubeconfig } from './kubeconfig.ts'
import { KubernetesClient } from './kubernetes-client.ts'
import { slotsOfQuota } from './runs.ts'
import { parseClusterUrl } from './cluster-url.ts'
import { startFakeCluster } from './testing/fake-cluster.ts'
import { say } from '../../../shared/texts/message.ts'

const DEMO = 'demo' as ProjectName
const SETTINGS = KubernetesSettings.parse({
  engineUrl: 'http://scrapdeck:6800',
  pod: { image: 'scrapy:{version}', memory: '256Mi' }
})
const REQUEST = {
  project: DEMO,
  version: '1.0' as VersionName,
  spider: 'quotes',
  jobid: '01JOB',
  priority: 0,
  limits: null,
  settings: { A: '$(HOME)' },
  args: { password: 'hush', page: '1' },
  secretNames: ['password'],
  isVersionAsked: false
}
const NAME = jobNameOf(REQUEST)
const RUN = { project: DEMO, spider: 'quotes', jobid: '01JOB' }

describe('the client of a cluster', () => {
  let cluster: Awaited<ReturnType<typeof startFakeCluster>>
  let client: KubernetesClient
  let directory: string

  beforeEach(async () => {
    cluster = await startFakeCluster()
    directory = mkdtempSync(join(tmpdir(), 'scrapdeck-cluster-'))
    client = await KubernetesClient.open({
      nodeId: 'n-1',
      name: 'crawls',
      url: cluster.url,
      settings: SETTINGS,
      token: 'a token',
      files: new CredentialFiles({ directories: [], never: [] }),
      caCertificate: null,
      clientCertificate: null,
      clientKey: null,
      proxyUrl: 'direct',
      eggOf: () => ({ path: 'kubernetes/eggs/signed', sha256: 'ab' }),
      directory: join(directory, 'logs'),
      clock: systemClock,
      logger: silentLogger
    })
  })
  afterEach(async () => {
    await client.close()
    await cluster.stop()
    rmSync(directory, { recursive: true, force: true })
  })

  const posts = () => cluster.requests.filter((one) => one.startsWith('POST') && one.endsWith('/jobs')).length
  const jobs = () => [...cluster.objects.keys()].filter((key) => key.startsWith('jobs/'))

  it('sends the token from an allowed file, and reads no other file', async () => {
    mkdirSync(join(directory, 'tokens'))
    writeFileSync(join(directory, 'tokens', 'a'), 'a token\n')
    writeFileSync(join(directory, 'secret.key'), 'hush')
    const openWith = (name: string) =>
      KubernetesClient.open({
        nodeId: 'n-1',
        name: 'crawls',
        url: cluster.url,
        token: null,
        settings: { ...SETTINGS, tokenFile: join(directory, name) },
        files: new CredentialFiles({ directories: [join(directory, 'tokens')], never: [] }),
        caCertificate: null,
        clientCertificate: null,
        clientKey: null,
        proxyUrl: 'direct',
        directory: join(directory, 'other logs'),
        clock: systemClock,
        logger: silentLogger
      })
    await using named = await openWith('tokens/a').then((one) => ({ one, [Symbol.asyncDispose]: () => one.close() }))
    expect(await named.one.listJobs()).toMatchObject({ pending: [] })
    const before = cluster.requests.length
    const other = await openWith('secret.key')
    const error = await other.listJobs().catch(toClientError)
    expect(error).toMatchObject({
      code: 'CREDENTIAL_FILE_NOT_ALLOWED',
      message: expect.stringContaining('cluster_credential_directories')
    })
    expect(cluster.requests).toHaveLength(before)
    await other.close()
  })

  it('sends a run as a Job and a Secret, without secret values in the Job', async () => {
    await expect(client.schedule(REQUEST)).resolves.toEqual({ jobid: '01JOB' })
    const job = JSON.stringify(cluster.objects.get(`jobs/${NAME}`))
    expect(job).not.toContain('hush')
    expect(job).toContain('http://scrapdeck:6800/kubernetes/eggs/signed')
    expect(JSON.stringify(cluster.objects.get(`secrets/${NAME}`))).toContain('hush')
    expect(await client.listJobs()).toMatchObject({ pending: [RUN], running: [], finished: [] })
  })

  it.each([
    ['the answer is lost', { answer: 'lose' as const }],
    ['the connection breaks', { answer: 'close' as const }],
    ['the server is unavailable', { answer: 503 }],
    ['the server is busy', { answer: 429 }]
  ])('repeats a request until the result is known: %s', async (_name, fault) => {
    cluster.faults.push({ on: /^POST .*\/jobs/, ...fault })
    await expect(client.schedule(REQUEST)).resolves.toEqual({ jobid: '01JOB' })
    expect([posts(), jobs()]).toEqual([2, [`jobs/${NAME}`]])
  })

  it.each([
    ['its argument', { args: { urls: 'x'.repeat(140_000) } }],
    ['its arguments together', { args: { one: 'x'.repeat(70_000), two: 'x'.repeat(70_000) } }]
  ])('refuses a run at once and permanently if no process can take %s', async (_what, over) => {
    await expect(client.schedule({ ...REQUEST, ...over })).rejects.toMatchObject({ refusal: 'unrunnable' })
    expect(posts()).toBe(0)
  })

  it('refuses a Job with that name that does not belong to this run', async () => {
    await client.schedule(REQUEST)
    cluster.objects.get(`jobs/${NAME}`)!.metadata.annotations = {}
    await expect(client.schedule(REQUEST)).rejects.toMatchObject({ kind: 'refused', delivered: 'no' })
  })

  it('says which right is missing, and that nothing was sent', async () => {
    cluster.faults.push({ on: /^POST .*\/jobs/, answer: 403, message: 'jobs.batch is forbidden: cannot create' })
    await expect(client.schedule(REQUEST)).rejects.toMatchObject({
      kind: 'forbidden',
      delivered: 'no',
      message: expect.stringMatching(/cannot create.*docs\/kubernetes\.md/)
    })
  })

  it.each([502, 503, 504])(
    'is down, not invalid, while a load balancer answers %s for its API server',
    async (answer) => {
      cluster.faults.push(...Array.from({ length: 9 }, () => ({ on: /^GET/, answer })))
      const failure = await client.daemonStatus().catch((error: unknown) => error)
      expect(healthOf(failure as NodeError)).toBe('down')
    }
  )

  it('lists in pages, and again from the start after a 410', async () => {
    for (const jobid of ['a', 'b', 'c', 'd', 'e']) await client.schedule({ ...REQUEST, jobid, secretNames: [] })
    cluster.faults.push({ on: /continue=2/, answer: 410 })
    const { pending } = await client.listJobs()
    expect(pending.map(({ jobid }) => jobid)).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it.each([
    [{ exitCode: 0 }, { code: 0, signal: null, limit: null }],
    [{ exitCode: 3 }, { code: 3, signal: null, limit: null }],
    [{ exitCode: 137 }, { code: null, signal: 'KILL', limit: null }],
    [
      { exitCode: 137, reason: 'OOMKilled' },
      { code: null, signal: 'KILL', limit: say('reason.pod_memory_limit') }
    ]
  ])('reads the end of a container: %j', async (terminated, exit) => {
    await client.schedule(REQUEST)
    const state = {
      terminated: { startedAt: '2026-01-01T00:00:05Z', finishedAt: '2026-01-01T00:00:09Z', ...terminated }
    }
    cluster.addPod(NAME, 'pod-1', { phase: 'Failed', containerStatuses: [{ name: 'spider', state }] })
    const { finished } = await client.listJobs()
    expect(finished).toMatchObject([{ ...RUN, startTime: '2026-01-01 00:00:05', exit }])
  })

  it('lists a Job with two started pods twice, and a replaced pod that never started once', async () => {
    await client.schedule(REQUEST)
    cluster.addPod(NAME, 'pod-0', { phase: 'Pending' })
    cluster.addPod(NAME, 'pod-1', { phase: 'Running' })
    expect((await client.listJobs()).running).toHaveLength(1)
    cluster.addPod(NAME, 'pod-2', { phase: 'Running' })
    await client.cancel({ project: DEMO, jobid: 'another', signal: 'INT' })
    expect((await client.listJobs()).running).toHaveLength(2)
  })

  it('says why a pod is pending', async () => {
    await client.schedule(REQUEST)
    const condition = {
      type: 'PodScheduled',
      status: 'False',
      reason: 'Unschedulable',
      message: '0/1 nodes: no memory'
    }
    cluster.addPod(NAME, 'pod-1', { phase: 'Pending', conditions: [condition] })
    await client.listJobs()
    expect(inWords(client.whyPending('01JOB'))).toBe('Unschedulable: 0/1 nodes: no memory')
  })

  it('says that a pending pod is fetching its egg, as a code', async () => {
    await client.schedule(REQUEST)
    const initContainerStatuses = [{ name: 'egg', state: { running: { startedAt: '2026-01-01T00:00:00Z' } } }]
    cluster.addPod(NAME, 'pod-1', { phase: 'Pending', initContainerStatuses })
    await client.listJobs()
    expect(client.whyPending('01JOB')).toEqual(say('pending.fetching_egg'))
  })

  const text = (log: LogRange | null) => Buffer.from(log!.bytes).toString()

  it('reads ranges of a log, and completes it when the pod has ended', async () => {
    await client.schedule(REQUEST)
    cluster.addPod(NAME, 'pod-1', { phase: 'Running' })
    expect(await client.readLog({ ...RUN, jobid: 'other' }, { offset: 0, limitBytes: 9 })).toBe(null)
    cluster.logs.set('pod-1', 'first line\n')
    const read = (offset: number) => client.readLog(RUN, { offset, limitBytes: 100 })
    await until(
      'its first line',
      async () => text(await read(0)),
      (seen) => seen === 'first line\n'
    )
    cluster.logs.set('pod-1', 'first line\nlast line\n')
    cluster.objects.get('pods/pod-1')!.status = { phase: 'Succeeded' }
    await client.cancel({ project: DEMO, jobid: 'another', signal: 'INT' })
    expect(text(await read(11))).toBe('last line\n')
    expect(text(await read(-5))).toBe('line\n')
  })

  it('says in a log that the kubelet has rotated it', async () => {
    await client.schedule(REQUEST)
    cluster.addPod(NAME, 'pod-1', { phase: 'Running' })
    cluster.logs.set('pod-1', 'one\ntwo\n')
    const read = () => client.readLog(RUN, { offset: 0, limitBytes: 1_000 })
    await until(
      'the log',
      async () => (await read())!.sizeBytes,
      (size) => size === 8
    )
    cluster.logs.set('pod-1', 'three\n')
    // The stream of the running pod sees the rotation first. The read after the pod's end does not report it again.
    await until(
      'the rest',
      async () => text(await read()),
      (seen) => seen.endsWith('three\n')
    )
    cluster.objects.get('pods/pod-1')!.status = { phase: 'Succeeded' }
    await client.cancel({ project: DEMO, jobid: 'another', signal: 'INT' })
    expect(text(await read())).toMatch(/^one\ntwo\n\n\[scrapdeck\] .* rotated .*\nthree\n$/)
  })

  it('deletes a pod that never started and whose Job was deleted, even if no lists are requested', async () => {
    await client.schedule(REQUEST)
    cluster.addPod(NAME, 'pod-1', { phase: 'Pending' })
    cluster.objects.get('pods/pod-1')!.metadata.deletionTimestamp = '2026-01-01T00:00:00Z'
    cluster.objects.delete(`jobs/${NAME}`)
    await client.daemonStatus()
    await until('the deletion', () => cluster.objects.size === 0)
  })

  it('cancels by deleting the Job and its pod, including one that never started', async () => {
    await client.schedule(REQUEST)
    cluster.addPod(NAME, 'pod-1', { phase: 'Pending' })
    const request = { project: DEMO, jobid: '01JOB', signal: 'INT' as const }
    expect(await client.cancel(request)).toEqual({ wasState: 'pending' })
    expect([...cluster.objects.keys()]).toEqual([`secrets/${NAME}`])
    expect(await client.cancel(request)).toEqual({ wasState: null })
  })
})

it('deletes an ended run a minute after its end, once it is not needed, even if no lists are requested', async () => {
  const cluster = await startFakeCluster()
  const clock = createFakeClock()
  const client = await KubernetesClient.open({
    nodeId: 'n-1',
    name: 'crawls',
    url: cluster.url,
    settings: SETTINGS,
    token: null,
    files: new CredentialFiles({ directories: [], never: [] }),
    caCertificate: null,
    clientCertificate: null,
    clientKey: null,
    proxyUrl: 'direct',
    eggOf: () => ({ path: 'x', sha256: 'ab' }),
    directory: join(tmpdir(), 'scrapdeck-never-made'),
    clock,
    logger: silentLogger
  })
  await client.schedule(REQUEST)
  cluster.addPod(NAME, 'pod-1', { phase: 'Succeeded' })
  await client.listJobs()
  client.release(() => true)
  await clock.advanceBy(120_000)
  await client.daemonStatus()
  client.release(() => true)
  expect(cluster.objects.size).toBe(3)
  client.release(() => false)
  await until('the deletion', () => cluster.objects.size === 0)

  await client.schedule(REQUEST)
  cluster.addPod(NAME, 'pod-2', { phase: 'Succeeded' })
  await clock.advanceBy(5_000)
  await client.listJobs()
  client.release(() => false)
  await clock.advanceBy(59_000)
  await client.daemonStatus()
  expect(cluster.objects.size).toBe(3)
  await clock.advanceBy(2_000)
  await client.daemonStatus()
  await until('the deletion', () => cluster.objects.size === 0)
  await client.close()
  await cluster.stop()
})

it('the name of a Job is a DNS label, and differs for different runs', () => {
  for (const jobid of ['01JOB', '-', '日本', 'x'.repeat(300), 'A_b.c']) {
    const name = jobNameOf({ project: DEMO, jobid })
    expect(name).toMatch(/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/)
    expect(name).not.toBe(jobNameOf({ project: 'other' as ProjectName, jobid }))
  }
})

it('the Job starts each run once, and passes values on unchanged', () => {
  const { job } = manifestsOf({ nodeId: 'n-1', settings: SETTINGS, request: REQUEST, egg: null })
  const text = JSON.stringify(job)
  expect(job).toMatchObject({
    spec: {
      backoffLimit: 0,
      podReplacementPolicy: 'Failed',
      template: { spec: { restartPolicy: 'Never', containers: [{ image: 'scrapy:1.0' }] } }
    }
  })
  expect(text).toContain('$$(HOME)')
})

it('a link to an egg opens that egg until it expires, and no changed link does', async () => {
  const clock = createFakeClock()
  const links = new EggLinks({ key: 'ab'.repeat(32), clock })
  const egg = { project: DEMO, version: '1.0' as VersionName, jobid: '01JOB' }
  const token = links.sign(egg)
  expect(links.read(token)).toEqual(egg)
  expect(new EggLinks({ key: 'cd'.repeat(32), clock }).read(token)).toBe(null)
  const [content, signature] = token.split('.')
  const other = Buffer.from(JSON.stringify(['shop', '1.0', '01JOB', 9e15])).toString('base64url')
  for (const forged of [`${other}.${signature}`, content!, `${content}.`, '', '.', 'x'.repeat(5_000)]) {
    expect(links.read(forged)).toBe(null)
  }
  await clock.advanceBy(25 * 3_600_000)
  expect(links.read(token)).toBe(null)
})

it('a watch reports changes but no bookmarks, however its lines are split', () => {
  const text = '{"type":"ADDED","object":{}}\n{"type":"BOOKMARK","object":{}}\n{"type":"MODIFIED","object":{}}\n'
  for (let size = 1; size < text.length; size += 1) {
    let events = 0
    const lines = new EventLines(() => (events += 1))
    for (let at = 0; at < text.length; at += size) expect(lines.add(Buffer.from(text.slice(at, at + size)))).toBe(true)
    expect(events).toBe(2)
    expect(lines.add(Buffer.from('{"type":"ERROR","object":{"code":410}}\n'))).toBe(false)
  }
})

it.each([
  [{ pods: '3' }, 3, 'pods'],
  [{ pods: '30', 'requests.memory': '1Gi' }, 4, 'requests.memory'],
  [{ 'requests.cpu': '2', 'count/jobs.batch': '7' }, 7, 'count/jobs.batch']
])('the quota %j gives %i slots', (hard, count, by) => {
  expect(slotsOfQuota(hard as Record<string, string>, { memory: '256Mi' })).toEqual({ count, by })
})

it.each([
  ['https://10.0.0.1:6443/api/v1/namespaces/crawls', 'https://10.0.0.1:6443/', 'crawls'],
  ['host/k8s/clusters/c1/api/v1/namespaces/a-b/', 'https://host/k8s/clusters/c1/', 'a-b']
])('the address %s', (text, server, namespace) => {
  const parsed = parseClusterUrl(text)
  expect(parsed).toMatchObject({ server, namespace })
  expect(parseClusterUrl(parsed.url)).toEqual(parsed)
})

it.each([
  'https://h:6443',
  'http://h/api/v1/namespaces/x',
  'https://u:p@h/api/v1/namespaces/x',
  'https://h/api/v1/namespaces/..'
])('the address %s is refused', (text) => {
  expect(() => parseClusterUrl(text)).toThrow(expect.objectContaining({ code: 'NODE_URL_INVALID' }))
})

const config = (user: string, cluster = 'server: https://h:6443') => `
apiVersion: v1
current-context: here
contexts: [{ name: here, context: { cluster: c, user: u, namespace: crawls } }]
clusters: [{ name: c, cluster: { ${cluster} } }]
users: [{ name: u, user: { ${user} } }]
`

it('a kubeconfig provides address, namespace and credentials', () => {
  const ca = Buffer.from('-----BEGIN').toString('base64')
  expect(
    readKubeconfig(config('token: hush', `server: https://h:6443, certificate-authority-data: ${ca}`), null)
  ).toMatchObject({
    server: 'https://h:6443',
    namespace: 'crawls',
    token: 'hush',
    caCertificate: '-----BEGIN'
  })
})

it.each([
  [config('exec: { command: hush }'), /from a program/],
  [config('client-key: /hush'), /names a file/],
  [config('token: hush', 'server: https://h, insecure-skip-tls-verify: true'), /verification/],
  ['hush: [', /YAML/],
  ['- hush', /no fields/],
  ['a: &a [hush]\nb: *a', /YAML|no current context/],
  ['{}', /current context/]
])('an invalid kubeconfig is refused with the reason, and none of it is shown: %#', (text, why) => {
  expect(() => readKubeconfig(text, null)).toThrow(
    expect.objectContaining({ code: 'NODE_CONNECTION_INVALID', message: expect.stringMatching(why) })
  )
  expect(() => readKubeconfig(text, null)).toThrow(
    expect.not.objectContaining({ message: expect.stringContaining('hush') })
  )
})
