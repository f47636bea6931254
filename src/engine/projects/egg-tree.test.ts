import { execFileSync } from 'node:child_process'
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { aProjectName, aVersionName } from '../../shared/testing/ids.ts'
import { IncomingFiles } from '../storage/blobs/incoming-files.ts'
import { openFilesystemBlobStore } from '../storage/blobs/filesystem/filesystem-blob-store.ts'
import { silentLogger } from '../runtime/logger.ts'
import { anEgg } from '../testing/archives.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { openTemporaryStore } from '../testing/temporary-store.ts'
import { EggTree } from './egg-tree.ts'
import { Projects } from './projects.ts'

const SHOP = aProjectName('shop')

async function openRoom() {
  const temporary = await openTemporaryStore()
  const directory = join(temporary.directory, 'eggs')
  const blobs = await openFilesystemBlobStore(join(temporary.directory, 'blobs'))
  const open = async () =>
    Projects.open({
      store: temporary.store,
      blobs,
      incoming: IncomingFiles.open(join(temporary.directory, 'incoming')),
      eggDirectory: join(temporary.directory, 'egg-files'),
      tree: await EggTree.open(directory, silentLogger),
      listSpidersOfEgg: async () => ['prices'],
      clock: createFakeClock(Date.UTC(2026, 0, 31, 12)),
      logger: silentLogger
    })
  const list = async () => (await readdir(directory, { recursive: true })).sort()
  return { projects: await open(), open, directory, list, [Symbol.asyncDispose]: temporary.remove }
}

test('each egg is where Scrapyd would look for it, and is deleted with its version', async () => {
  await using t = await openRoom()
  const egg = await anEgg()
  await t.projects.upload(egg, { project: aProjectName('my shop'), version: aVersionName('1.0') })
  await t.projects.upload(await anEgg([{ name: 'a.py' }]), {
    project: aProjectName('my shop'),
    version: aVersionName('2')
  })
  expect(await t.list()).toEqual(['my shop', 'my shop/1_0.egg', 'my shop/2.egg'])
  expect(await readFile(join(t.directory, 'my shop', '1_0.egg'))).toEqual(Buffer.from(egg))
  const other = await anEgg([{ name: 'b.py' }])
  await t.projects.upload(other, { project: aProjectName('my shop'), version: aVersionName('1.0') })
  expect(await readFile(join(t.directory, 'my shop', '1_0.egg'))).toEqual(Buffer.from(other))
  await t.projects.deleteVersion(aProjectName('my shop'), aVersionName('2'))
  expect(await t.list()).toEqual(['my shop', 'my shop/1_0.egg'])
  await t.projects.deleteProject(aProjectName('my shop'))
  expect(await t.list()).toEqual([])
})

test('an egg that was deleted or changed by hand is restored, and the changed file is kept aside', async () => {
  await using t = await openRoom()
  const egg = await anEgg()
  await t.projects.upload(egg, { project: SHOP, version: aVersionName('1') })
  await t.projects.upload(egg, { project: SHOP, version: aVersionName('2') })
  await t.projects.upload(egg, { project: aProjectName('other'), version: aVersionName('1') })
  const path = (name: string) => join(t.directory, name)
  await writeFile(path('shop/1.egg'), 'changed')
  await writeFile(path('shop/.2.egg.part'), 'cut short')
  await rm(path('other'), { recursive: true })
  await (await t.open()).followTree()
  expect(await t.list()).toEqual(['other', 'other/1.egg', 'shop', 'shop/1.egg', 'shop/1.egg.set-aside', 'shop/2.egg'])
  for (const name of ['other/1.egg', 'shop/1.egg']) expect(await readFile(path(name))).toEqual(Buffer.from(egg))
  expect(await readFile(path('shop/1.egg.set-aside'), 'utf8')).toBe('changed')
})

test.skipIf(process.platform === 'win32')(
  'an egg takes the space of two files: one to run from, one to edit',
  async () => {
    await using t = await openRoom()
    const { sha256 } = await t.projects.upload(await anEgg(), { project: SHOP, version: aVersionName('1') })
    const inode = async (...path: string[]) => (await stat(join(t.directory, '..', ...path))).ino
    const blob = await inode('blobs', 'eggs', sha256!)
    expect(await inode('egg-files', sha256!, 'shop-1.egg')).toBe(blob)
    expect(await readdir(join(t.directory, '..', 'egg-files', sha256!))).toEqual(['shop-1.egg'])
    // Its owner may change it in place.
    expect(await inode('eggs', 'shop', '1.egg')).not.toBe(blob)
  }
)

test('eggs that were copied in by hand are imported in Scrapyd’s order; other files are left alone', async () => {
  await using t = await openRoom()
  for (const name of ['r9', 'r10', 'a-hash']) {
    await mkdir(join(t.directory, 'shop'), { recursive: true })
    await writeFile(join(t.directory, 'shop', `${name}.egg`), await anEgg([{ name: `${name}.py` }]))
  }
  await writeFile(join(t.directory, 'shop', 'bad.egg'), 'no egg')
  await mkdir(join(t.directory, 'f'.repeat(64)))
  await writeFile(join(t.directory, 'f'.repeat(64), 'shop-1.egg'), await anEgg())
  const before = await t.list()
  await t.projects.followTree()
  expect(t.projects.catalog.versionNames(aProjectName('shop'))).toEqual(['a-hash', 'r10', 'r9'])
  expect(t.projects.catalog.names()).toEqual(['shop'])
  expect(await t.list()).toEqual(before)
})

test('a directory that cannot be created prevents the start, and the error names it', async () => {
  await using t = await openRoom()
  await writeFile(join(t.directory, 'file'), '')
  await expect(EggTree.open(join(t.directory, 'file', 'eggs'), silentLogger)).rejects.toThrow('Correct eggs_dir')
})

test.skipIf(process.platform === 'win32')('a pipe among the eggs does not block the start', async () => {
  await using t = await openRoom()
  await mkdir(join(t.directory, 'shop'), { recursive: true })
  execFileSync('mkfifo', [join(t.directory, 'shop', '1.egg')])
  await t.projects.followTree()
  expect(t.projects.catalog.find(aProjectName('shop'), aVersionName('1'))).toBeNull()
})
