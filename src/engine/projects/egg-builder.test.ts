import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { aProjectName } from '../../shared/testing/ids.ts'
import { anArchive } from '../testing/archives.ts'
import { makeTemporaryDirectory } from '../testing/temporary-directory.ts'
import { buildEgg, buildEggFromArchive, buildEggFromFolder } from './egg-builder.ts'
import { inspectEgg } from './egg-inspection.ts'
import { openZipArchive } from './zip-archive.ts'

const CONFIGURATION =
  '[settings]\ndefault = shop.settings\n\n[deploy]\nurl = http://node/\npassword = secret\nproject = market\n'
const FILES = {
  'scrapy.cfg': CONFIGURATION,
  'shop/__init__.py': '',
  'shop/settings.py': 'BOT_NAME = "shop"\n',
  'shop/data/countries.json': '{}'
}
const NEVER = {
  'setup.py': '',
  '.env': 'PASSWORD=x',
  '.git/config': '',
  'shop/__pycache__/settings.cpython-311.pyc': '',
  'build/lib/shop/settings.py': '',
  'venv/lib/x.py': '',
  'market.egg-info/PKG-INFO': '',
  'EGG-INFO/PKG-INFO': 'Name: other',
  'own-environment/pyvenv.cfg': '',
  'own-environment/lib/y.py': ''
}
const PACKED = [
  'EGG-INFO/PKG-INFO',
  'EGG-INFO/entry_points.txt',
  'EGG-INFO/top_level.txt',
  'EGG-INFO/zip-safe',
  'shop/__init__.py',
  'shop/data/countries.json',
  'shop/settings.py'
]

function filesOf(contents: Record<string, string>) {
  return Object.entries(contents).map(([path, text]) => ({ path, bytes: Buffer.from(text) }))
}

async function namesIn(egg: Uint8Array): Promise<string[]> {
  return (await openZipArchive(egg)).names
}

test('the egg of a folder holds its files and metadata, and no caches, environments, hidden files or passwords', async () => {
  await using folder = await makeTemporaryDirectory()
  for (const [path, text] of Object.entries({ ...FILES, ...NEVER })) {
    await mkdir(dirname(join(folder.path, path)), { recursive: true })
    await writeFile(join(folder.path, path), text)
  }
  await symlink('/etc/passwd', join(folder.path, 'shop', 'link.py'))
  const egg = await buildEggFromFolder(folder.path)
  expect(await namesIn(egg)).toEqual(PACKED)
  expect(await inspectEgg(egg)).toEqual({ name: 'market', version: '1.0', settingsModule: 'shop.settings' })
})

test('the same files give the same bytes, in whatever order they come', async () => {
  const one = await buildEgg(filesOf(FILES))
  expect(Buffer.from(await buildEgg(filesOf(FILES).reverse())).equals(Buffer.from(one))).toBe(true)
})

test.each(['', 'my-project/'])('a zip with scrapy.cfg in %j becomes an egg', async (top) => {
  const all = { ...FILES, ...NEVER }
  const zip = await anArchive([
    ...Object.entries(all).map(([path, content]) => ({ name: top + path, content })),
    { name: `__MACOSX/${top}scrapy.cfg`, content: 'junk' }
  ])
  const egg = await buffer((await buildEggFromArchive(await openZipArchive(zip)))!)
  expect(await namesIn(egg)).toEqual(PACKED)
})

test('a zip without scrapy.cfg, or with it two folders deep, is not a project', async () => {
  const zip = await anArchive([{ name: 'a/b/scrapy.cfg', content: CONFIGURATION }])
  expect(await buildEggFromArchive(await openZipArchive(zip))).toBeNull()
})

test('missing settings are reported with the name of the missing file', async () => {
  const files = filesOf({ 'scrapy.cfg': CONFIGURATION, 'shop/__init__.py': '' })
  await expect(buildEgg(files)).rejects.toThrow('no shop/settings.py beside it')
  await expect(buildEgg(filesOf({ 'scrapy.cfg': '[deploy]\n' }))).rejects.toThrow('[settings]')
})

test('an invalid project name is refused', async () => {
  await expect(buildEgg(filesOf(FILES), { project: aProjectName('../up') })).rejects.toThrow('contains a slash')
})
