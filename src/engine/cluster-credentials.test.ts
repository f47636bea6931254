import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openEngineWithFakeNode } from './testing/engine-with-fake-node.ts'
import { makeTemporaryDirectory } from './testing/temporary-directory.ts'

it('an admin cannot name a file with a secret of this service as a credential, even in the directory of clusters', async () => {
  const root = await makeTemporaryDirectory()
  const at = (name: string) => join(root.path, name)
  // Kubernetes mounts secrets like this: the named file is a link.
  await mkdir(at('..data'))
  for (const name of ['db-password', 'cluster-token']) {
    await writeFile(at(`..data/${name}`), 'hush')
    await symlink(`..data/${name}`, at(name))
  }
  const opened = await openEngineWithFakeNode({
    clusterCredentialDirectories: [root.path],
    secretFiles: [at('db-password')]
  })
  onTestFinished(async () => {
    await opened.remove()
    await root[Symbol.asyncDispose]()
  })
  const addWith = (tokenFile: string) =>
    opened.client.nodes.add({
      url: 'https://k8s.example.org/api/v1/namespaces/crawl',
      name: tokenFile,
      kubernetes: { tokenFile, engineUrl: null, pod: {} }
    })
  for (const name of ['db-password', '..data/db-password']) {
    await expect(addWith(at(name)), name).rejects.toMatchObject({ code: 'CREDENTIAL_FILE_NOT_ALLOWED' })
  }
  await addWith(at('cluster-token'))
  expect((await opened.client.nodes.list()).nodes).toMatchObject([{ kubernetes: { tokenFile: at('cluster-token') } }])
})
