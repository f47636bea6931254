import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { KubernetesSettings } from '../../shared/contract/index.ts'
import { CredentialFiles } from './kubernetes/credential-files.ts'
import { startFakeCluster } from './kubernetes/testing/fake-cluster.ts'
import { systemClock } from '../runtime/clock.ts'
import { silentLogger } from '../runtime/logger.ts'
import { aStoredNode } from '../testing/builders.ts'
import { createSeededRandom } from '../testing/seeded-random.ts'
import { makeTemporaryDirectory } from '../testing/temporary-directory.ts'
import { createNodeClients } from './node-clients.ts'

/** Starts a fake cluster and a client for it that uses a token and the CA certificate in `caFile`. */
async function openCluster(caFile: (root: string) => string) {
  const root = await makeTemporaryDirectory()
  const cluster = await startFakeCluster()
  await mkdir(join(root.path, 'allowed'))
  await writeFile(join(root.path, 'elsewhere.pem'), 'a CA')
  const path = caFile(root.path)
  const { createClient } = createNodeClients({
    clock: systemClock,
    logger: silentLogger,
    random: createSeededRandom(1),
    secretBox: { open: async () => 'the token' },
    dataDirectory: root.path,
    eggLinks: { load: async () => ({ sign: () => 'signed' }) },
    projects: { catalog: { find: () => undefined } },
    credentialFiles: new CredentialFiles({ directories: [join(root.path, 'allowed')], never: [] })
  } as unknown as Parameters<typeof createNodeClients>[0])
  const client = await createClient(
    aStoredNode({
      kind: 'kubernetes',
      name: 'crawls',
      url: cluster.url,
      sealedPassword: 'sealed',
      sealedProxyUrl: 'direct',
      kubernetes: KubernetesSettings.parse({ engineUrl: null, pod: {}, caFile: path })
    } as never)
  )
  onTestFinished(async () => {
    await client.close()
    await cluster.stop()
    await root[Symbol.asyncDispose]()
  })
  return { client, cluster, path }
}

it.each([
  ['absent', (root: string) => join(root, 'allowed/ca.crt'), 'Put the file back'],
  ['not allowed', (root: string) => join(root, 'elsewhere.pem'), 'cluster_credential_directories']
])('a cluster whose CA file is %s is not contacted, and its problem says what to do', async (_what, caFile, advice) => {
  const { client, cluster, path } = await openCluster(caFile)
  const asked = [
    () => client.daemonStatus(),
    () => client.listJobs(),
    () => client.schedule({ project: 'demo', jobid: 'a' } as never),
    () => client.cancel({ project: 'demo', jobid: 'a', signal: 'TERM' } as never),
    () => client.readLog({ project: 'demo', spider: 'x', jobid: 'a' } as never, { offset: 0, limitBytes: 1 })
  ]
  for (const ask of asked) {
    const error = (await ask().then(String, (reason: unknown) => reason)) as Error
    expect(error).toMatchObject({ name: 'NodeError', kind: 'unauthorized', delivered: 'no' })
    for (const text of ['Node crawls', path, advice]) expect(error.message).toContain(text)
  }
  client.watchJobs?.(() => undefined)
  client.release?.(() => false)
  expect([client.whyPending?.('a'), cluster.requests]).toEqual([null, []])
})

it('a cluster works again once its CA file can be read', async () => {
  const { client, cluster, path } = await openCluster((root) => join(root, 'allowed/ca.crt'))
  await expect(client.listJobs()).rejects.toThrow('cannot be read (ENOENT)')
  await writeFile(path, 'a CA')
  expect(await client.listJobs()).toMatchObject({ pending: [], running: [], finished: [] })
  await rm(path)
  expect(await client.daemonStatus()).toMatchObject({ pending: 0 })
  expect(cluster.requests).not.toEqual([])
})
