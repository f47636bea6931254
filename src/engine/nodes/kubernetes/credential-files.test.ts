import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import { resolveClusterAddress } from './cluster-address.ts'
import { CredentialFiles } from './credential-files.ts'

const REFUSED = { code: 'CREDENTIAL_FILE_NOT_ALLOWED' }

describe('a file of credentials that an address names', () => {
  let root: Awaited<ReturnType<typeof makeTemporaryDirectory>>
  let files: CredentialFiles
  const at = (...parts: string[]) => join(root.path, ...parts)
  beforeEach(async () => {
    root = await makeTemporaryDirectory()
    for (const name of ['allowed/..2026', 'allowed/data/deep', 'other', 'allowed-not']) {
      await mkdir(at(name), { recursive: true })
    }
    // Kubernetes projects tokens like this: a link to a link to a versioned directory.
    await writeFile(at('allowed/..2026/token'), 'projected\n')
    await symlink('..2026', at('allowed/..data'))
    await symlink('..data/token', at('allowed/token'))
    await symlink(at('allowed'), at('linked'))
    await writeFile(at('other/secret'), 'hush')
    await writeFile(at('allowed-not/secret'), 'hush')
    await writeFile(at('allowed/secret.key'), 'hush')
    await writeFile(at('allowed/data/deep/credentials'), 'hush')
    await writeFile(at('allowed/large'), 'x'.repeat(65_537))
    await writeFile(at('allowed/most'), 'x'.repeat(65_536))
    await writeFile(at('allowed/empty'), ' \n')
    await symlink(at('other/secret'), at('allowed/out'))
    await symlink(at('other'), at('allowed/outside'))
    await symlink('secret.key', at('allowed/key-by-link'))
    files = new CredentialFiles({
      directories: [at('linked'), at('absent')],
      never: [at('allowed/data'), at('allowed/secret.key')]
    })
  })
  afterEach(() => root[Symbol.asyncDispose]())

  it.each([
    ['linked/token', 'projected'],
    ['allowed/token', 'projected'],
    ['allowed/../linked/token', 'projected'],
    ['linked/most', 'x'.repeat(65_536)]
  ])('is read from a directory that the operator named, through links inside it: %s', async (path, text) => {
    await files.check(at(path))
    expect(await files.read(at(path))).toBe(text)
  })

  it.each([
    ['outside of it', 'other/secret'],
    ['beside it, with a name that begins the same', 'allowed-not/secret'],
    ['outside of it, by way of it', 'linked/../other/secret'],
    ['outside of it, by a link in it', 'linked/out'],
    ['outside of it, by a link to a directory', 'linked/outside/secret'],
    ['in the data directory', 'linked/data/deep/credentials'],
    ['the key', 'linked/secret.key'],
    ['the key, by a link', 'linked/key-by-link'],
    ['a directory', 'linked/data'],
    ['the directory itself', 'linked'],
    ['too large', 'linked/large'],
    ['outside of it and absent', 'other/none']
  ])('is refused when it is set and when it is read: %s', async (_what, path) => {
    await expect(files.check(at(path))).rejects.toMatchObject(REFUSED)
    await expect(files.read(at(path))).rejects.toMatchObject(REFUSED)
  })

  it('is not looked for outside the allowed directories, so that no one learns what exists there', async () => {
    const messageOf = (path: string) => files.check(at(path)).catch((error: Error) => error.message.replace(path, ''))
    expect(await messageOf('other/none')).toBe(await messageOf('other/secret'))
  })

  it('may be created later; until then, and while it is empty, it cannot be read', async () => {
    await files.check(at('linked/later'))
    await files.check(at('absent/token'))
    for (const name of ['linked/later', 'absent/token']) {
      await expect(files.read(at(name))).rejects.toMatchObject({ code: 'ENOENT' })
    }
    await expect(files.read(at('linked/empty'))).rejects.toThrow('empty')
  })

  it('is refused when the address is set: beside it, in a kubeconfig, as a CA, or for the service account', async () => {
    const address = { url: 'https://k8s.example.org/api/v1/namespaces/crawl', kubernetes: { ...SETTINGS } }
    const resolve = (changes: object, serviceAccount?: string) =>
      resolveClusterAddress({ ...address, ...changes }, files, serviceAccount)
    const other = at('other/secret')
    const kubeconfig = (user: string, cluster = '') => `
current-context: a
contexts: [{ name: a, context: { cluster: c, user: u } }]
clusters: [{ name: c, cluster: { server: "https://k8s.example.org" ${cluster} } }]
users: [{ name: u, user: { ${user} } }]`
    for (const changes of [
      { kubernetes: { ...SETTINGS, tokenFile: other } },
      { kubernetes: { ...SETTINGS, caFile: other } },
      { url: 'kubeconfig', kubeconfig: kubeconfig(`tokenFile: "${other}"`) },
      { url: 'kubeconfig', kubeconfig: kubeconfig('token: a', `, certificate-authority: "${other}"`) }
    ]) {
      await expect(resolve(changes), JSON.stringify(changes)).rejects.toMatchObject(REFUSED)
    }
    const given = { url: 'kubeconfig', kubeconfig: kubeconfig(`tokenFile: "${at('linked/token')}"`) }
    expect((await resolve(given)).kubernetes.tokenFile).toBe(at('linked/token'))
    await writeFile(at('allowed/namespace'), 'crawl')
    expect((await resolve({ url: 'in-cluster' }, at('linked'))).kubernetes).toMatchObject({
      tokenFile: at('linked/token'),
      caFile: at('linked/ca.crt')
    })
  })
})

const SETTINGS = {
  tokenFile: null,
  caFile: null,
  engineUrl: null,
  graceSeconds: 30,
  quota: null,
  pod: {},
  projects: {}
}
