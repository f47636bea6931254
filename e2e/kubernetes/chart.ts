/** Tests the Helm chart on a real API server: what the server accepts and what its controllers create from it. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parse, parseAllDocuments } from 'yaml'
import { CHART, HELM, POSTGRES, setting, VALUE_SETS } from '../../scripts/containers/chart.ts'
import { ensureGoProgram, ensureKedaDefinitions } from '../../scripts/setup/container-tools.mjs'
import { until } from '../../src/engine/testing/until.ts'
import type { ClusterApi } from './cluster-api.ts'
import type { Cluster } from './control-plane.ts'

const LIMIT_MS = 180_000
const NAMESPACE = 'deck'
const RELEASE = 'deck'
const ENGINE = 'deck-scrapdeck'
const SCRAPYD = 'deck-scrapdeck-scrapyd'
/** All kinds in the chart. The test fails if a kind is not rendered, because the kind would then not be tested. */
const KINDS = [
  'Deployment',
  'HorizontalPodAutoscaler',
  'Ingress',
  'NetworkPolicy',
  'PodDisruptionBudget',
  'ScaledObject',
  'Secret',
  'Service',
  'StatefulSet',
  'TriggerAuthentication'
]

interface Resource {
  apiVersion: string
  kind: string
  metadata: { name: string; ownerReferences?: { kind: string; name: string }[] }
}

interface Workload extends Resource {
  spec: { replicas: number }
  status: { readyReplicas?: number; updatedReplicas?: number }
}

const run = promisify(execFile)

async function openHelm({ directory }: Cluster) {
  const program = await ensureGoProgram(HELM)
  const home = Object.fromEntries(
    ['CACHE', 'CONFIG', 'DATA'].map((kind) => [`HELM_${kind}_HOME`, join(directory, 'helm', kind)])
  )
  const env = { ...process.env, ...home, KUBECONFIG: join(directory, 'admin.kubeconfig') }
  return async (...words: string[]) =>
    (await run(program, [...words, '--namespace', NAMESPACE], { env, maxBuffer: 64 * 1024 * 1024 })).stdout
}

async function prepare({ api }: Cluster): Promise<void> {
  const isThere = (path: string) =>
    api.get(path).then(
      () => true,
      () => false
    )
  if (await isThere(`api/v1/namespaces/${NAMESPACE}`)) return
  await api.put('POST', 'api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } })
  for (const file of await ensureKedaDefinitions()) {
    const definition = parse(readFileSync(file, 'utf8')) as unknown
    await api.put('POST', 'apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition)
  }
  const kedas = ['scaledobjects', 'triggerauthentications']
  for (const plural of kedas) {
    const path = `apis/keda.sh/v1alpha1/namespaces/${NAMESPACE}/${plural}`
    await until(`KEDA's ${plural}`, () => isThere(path), Boolean, LIMIT_MS)
  }
}

function createPathsOf(api: ClusterApi) {
  const known = new Map<string, Map<string, string>>()
  return async ({ apiVersion, kind }: Resource): Promise<string> => {
    const group = `${apiVersion === 'v1' ? 'api' : 'apis'}/${apiVersion}`
    if (!known.has(group)) {
      const { resources } = (await api.get(group)) as { resources: { kind: string; name: string }[] }
      const plurals = resources.filter(({ name }) => !name.includes('/'))
      known.set(group, new Map(plurals.map((one) => [one.kind, one.name])))
    }
    const plural = known.get(group)!.get(kind)
    assert.ok(plural, `the API server has no ${kind} of ${apiVersion}`)
    return `${group}/namespaces/${NAMESPACE}/${plural}?dryRun=All&fieldValidation=Strict`
  }
}

const resourcesOf = (text: string) =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as Resource | null)
    .filter((one) => one !== null)

const listOf = async <T = Resource>({ api }: Cluster, group: string, plural: string, query = ''): Promise<T[]> =>
  ((await api.get(`${group}/namespaces/${NAMESPACE}/${plural}${query}`)) as { items: T[] }).items

const namesOf = (resources: Resource[]) => resources.map(({ metadata }) => metadata.name).sort()

const untilReady = (cluster: Cluster, plural: string, name: string, replicas: number) =>
  until(
    `${replicas} ready pods of ${name}`,
    async () => (await cluster.api.get(`apis/apps/v1/namespaces/${NAMESPACE}/${plural}/${name}`)) as Workload,
    ({ spec, status }) =>
      spec.replicas === replicas && status.readyReplicas === replicas && status.updatedReplicas === replicas,
    LIMIT_MS
  )

async function hostsOf(cluster: Cluster, service: string): Promise<string[]> {
  type Slice = { endpoints?: { hostname?: string; targetRef: { name: string }; conditions: { ready?: boolean } }[] }
  const query = `?labelSelector=kubernetes.io/service-name%3D${service}`
  const slices = await listOf<Slice>(cluster, 'apis/discovery.k8s.io/v1', 'endpointslices', query)
  const ready = slices.flatMap(({ endpoints }) => endpoints ?? []).filter(({ conditions }) => conditions.ready)
  return ready.map(({ hostname, targetRef }) => hostname ?? targetRef.name).sort()
}

const numbered = (name: string, count: number) => Array.from({ length: count }, (_, index) => `${name}-${index}`)

/** Creates volumes for the claims of a StatefulSet, because the cluster does not create volumes dynamically. */
async function createVolumes({ api }: Cluster, count: number): Promise<void> {
  for (const name of numbered('volume', count)) {
    await api.put('POST', 'api/v1/persistentvolumes', {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name },
      spec: { capacity: { storage: '20Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: `/unused/${name}` } }
    })
  }
}

async function evict({ api }: Cluster, pod: string): Promise<void> {
  await api.put('POST', `api/v1/namespaces/${NAMESPACE}/pods/${pod}/eviction`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name: pod, namespace: NAMESPACE }
  })
}

export const CHART_CASES: Record<string, (world: { cluster: Cluster }) => Promise<void>> = {
  async 'the chart is valid for the API server, with every set of values'({ cluster }) {
    const helm = await openHelm(cluster)
    await prepare(cluster)
    const createPathOf = createPathsOf(cluster.api)
    const kinds = new Set<string>()
    const create = async (resource: Resource) => cluster.api.put('POST', await createPathOf(resource), resource)
    for (const values of Object.values(VALUE_SETS)) {
      for (const resource of resourcesOf(await helm('template', RELEASE, CHART, ...setting(values)))) {
        kinds.add(resource.kind)
        await create(resource)
      }
    }
    assert.deepEqual([...kinds].sort(), KINDS)
    // Proves that the check can fail, with misspelled fields of Kubernetes and of KEDA.
    const everything = await helm('template', RELEASE, CHART, ...setting(VALUE_SETS['everything']!))
    for (const [right, wrong] of [
      ['readinessProbe', 'readynessProbe'],
      ['maxReplicaCount', 'maximumReplicaCount']
    ] as const) {
      const misspelt = resourcesOf(everything.replaceAll(`${right}:`, `${wrong}:`))
      const found = await Promise.allSettled(misspelt.map(create))
      const problems = found.filter((one) => one.status === 'rejected').map(({ reason }) => String(reason))
      assert.ok(problems.length > 0, `${wrong} was accepted`)
      for (const problem of problems) assert.match(problem, new RegExp(`unknown field .*${wrong}`))
    }
  },

  async 'the chart is installed: sets, claims, services and budgets work'({ cluster }) {
    const helm = await openHelm(cluster)
    await prepare(cluster)
    await createVolumes(cluster, 4)
    const secret = async () => {
      const path = `api/v1/namespaces/${NAMESPACE}/secrets/${ENGINE}-secrets`
      return ((await cluster.api.get(path)) as { data: Record<string, string> }).data
    }
    await helm('install', RELEASE, CHART)
    try {
      await untilReady(cluster, 'statefulsets', ENGINE, 1)
      await untilReady(cluster, 'statefulsets', SCRAPYD, 3)
      const scrapyds = numbered(SCRAPYD, 3)
      assert.deepEqual(namesOf(await listOf(cluster, 'api/v1', 'pods')), [`${ENGINE}-0`, ...scrapyds])
      const claims = await listOf<Resource & { status: { phase: string } }>(cluster, 'api/v1', 'persistentvolumeclaims')
      assert.deepEqual(namesOf(claims), [`data-${ENGINE}-0`, ...scrapyds.map((name) => `data-${name}`)])
      assert.ok(claims.every(({ status }) => status.phase === 'Bound'))
      // Discovery must report exactly these names, because nodes are drained and activated by name.
      const found = await until(
        'the Scrapyds',
        () => hostsOf(cluster, SCRAPYD),
        (all) => all.length === 3,
        LIMIT_MS
      )
      assert.deepEqual(found, scrapyds)
      assert.deepEqual(await hostsOf(cluster, ENGINE), [`${ENGINE}-0`])

      // The budgets let a drain evict one Scrapyd at a time, and the only engine.
      await until(
        'the budgets',
        () => listOf<{ status: { disruptionsAllowed: number } }>(cluster, 'apis/policy/v1', 'poddisruptionbudgets'),
        (budgets) => budgets.length === 2 && budgets.every(({ status }) => status.disruptionsAllowed === 1),
        LIMIT_MS
      )
      await evict(cluster, scrapyds[0]!)
      await assert.rejects(evict(cluster, scrapyds[1]!), /429.*disruption budget/)
      await evict(cluster, `${ENGINE}-0`)
      await untilReady(cluster, 'statefulsets', ENGINE, 1)
      await untilReady(cluster, 'statefulsets', SCRAPYD, 3)

      const before = await secret()
      await helm('upgrade', RELEASE, CHART, '--set', 'scrapyd.replicas=2')
      await untilReady(cluster, 'statefulsets', SCRAPYD, 2)
      assert.deepEqual(await secret(), before, 'the upgrade changed the passwords')

      // The new workload has another kind but the same name, so Helm removes the old one and creates the new one.
      const scaled = ['engine.autoscaling.enabled=true', 'scrapyd.keda.enabled=true', 'ingress.enabled=true']
      await helm('upgrade', RELEASE, CHART, ...setting([...POSTGRES, ...scaled, 'ingress.host=deck.example.org']))
      // Without a number of replicas, Kubernetes starts one pod. The autoscaler then requests its minimum.
      await untilReady(cluster, 'deployments', ENGINE, 2)
      const sets = await listOf(cluster, 'apis/apps/v1', 'replicasets')
      assert.ok(sets.length > 0)
      for (const { metadata } of sets) assert.equal(metadata.ownerReferences?.[0]?.name, ENGINE)
      const engines = await until(
        'both engines',
        () => hostsOf(cluster, ENGINE),
        ({ length }) => length === 2,
        LIMIT_MS
      )
      assert.ok(engines.every((name) => name.startsWith(namesOf(sets)[0]!)))
      assert.deepEqual(namesOf(await listOf(cluster, 'apis/apps/v1', 'statefulsets')), [SCRAPYD])
      assert.deepEqual(namesOf(await listOf(cluster, 'apis/keda.sh/v1alpha1', 'scaledobjects')), [SCRAPYD])
      assert.deepEqual(await secret(), before, 'the upgrade changed the passwords')
    } finally {
      await helm('uninstall', RELEASE)
    }
    await until(
      'the pods to go',
      () => listOf(cluster, 'api/v1', 'pods'),
      (pods) => pods.length === 0,
      LIMIT_MS
    )
    for (const plural of ['deployments', 'statefulsets', 'replicasets']) {
      assert.deepEqual(await listOf(cluster, 'apis/apps/v1', plural), [])
    }
    assert.ok((await secret())['secret-key'])
    assert.equal((await listOf(cluster, 'api/v1', 'persistentvolumeclaims')).length, 4)
  }
}
