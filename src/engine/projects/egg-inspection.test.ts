import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ErrorCode } from '../../shared/errors.ts'
import { anArchive, anEgg } from '../testing/archives.ts'
import { makeTemporaryDirectory } from '../testing/temporary-directory.ts'
import { inspectArchive, inspectEgg } from './egg-inspection.ts'
import { EGG_LIMITS, openZipArchive } from './zip-archive.ts'

function refusal(code: ErrorCode, words: RegExp) {
  return expect.objectContaining({ code, message: expect.stringMatching(words) })
}

test('an egg contains its name, version and settings module', async () => {
  expect(await inspectEgg(await anEgg())).toEqual({ name: 'shop', version: '2.0', settingsModule: 'shop.settings' })
})

test('an empty PKG-INFO is enough, as for Scrapyd; a settings object after a colon is cut off', async () => {
  const egg = await anArchive([
    { name: 'EGG-INFO/PKG-INFO' },
    { name: 'EGG-INFO/entry_points.txt', content: '[console_scripts]\nsettings = no\n\n[scrapy]\nsettings = a.b:c\n' }
  ])
  expect(await inspectEgg(egg)).toEqual({ name: null, version: null, settingsModule: 'a.b' })
})

const FACTS = { name: 'shop', version: '2.0', settingsModule: 'shop.settings' }
const ENTRY_POINTS = '[scrapy]\nsettings = shop.settings\n'
const METADATA = 'Metadata-Version: 2.1\nName: shop\nVersion: 2.0\n'

test.each([
  ['a wheel', 'shop-2.0.dist-info', 'METADATA'],
  ['what setuptools leaves beside the code', 'shop.egg-info', 'PKG-INFO']
])('%s is an egg, as for Scrapyd', async (_what, folder, file) => {
  const archive = await anArchive([
    { name: 'shop/settings.py' },
    { name: `${folder}/${file}`, content: METADATA },
    { name: `${folder}/entry_points.txt`, content: ENTRY_POINTS },
    // Scrapyd takes the first distribution.
    { name: 'zlib-1.dist-info/METADATA', content: 'Name: zlib\nVersion: 1\n' }
  ])
  expect(await inspectEgg(archive)).toEqual(FACTS)
})

// What Scrapyd 1.6 does with each: e2e/differential.
test.each([
  [ENTRY_POINTS.replace('.settings', '.settings [redis]'), true],
  [ENTRY_POINTS.replace('.settings', '.settings : a.b [redis, s3]'), true],
  ['# a comment\n[ scrapy ]\n  settings=shop.settings\n', true],
  [ENTRY_POINTS.replace('settings =', 'Settings ='), false],
  [ENTRY_POINTS.replace('=', ':'), false],
  [`; a comment\n${ENTRY_POINTS}`, false],
  [`\ufeff${ENTRY_POINTS}`, false],
  [`[console_scripts]\na broken line\n${ENTRY_POINTS}`, false],
  [`${ENTRY_POINTS}settings = shop.others\n`, false],
  [`${ENTRY_POINTS}[scrapy]\n`, false],
  [`[scrapy]\nsettings =\n  shop.settings\n`, false],
  [`[scrapy]\nsettings = a${' '.repeat(900_000)}!\n`, false]
])('the entry points %j are accepted, as in Scrapyd: %s', async (content, isTaken) => {
  const egg = anArchive([
    { name: 'EGG-INFO/PKG-INFO', content: METADATA },
    { name: 'EGG-INFO/entry_points.txt', content }
  ])
  if (isTaken) expect(await inspectEgg(await egg)).toEqual(FACTS)
  else await expect(inspectEgg(await egg)).rejects.toMatchObject({ code: 'EGG_NO_SETTINGS' })
})

test.each([
  ['a line before it', '#!/usr/bin/env python3\n', ''],
  ['100 NULs behind it', '', '\0'.repeat(100)],
  ['text on both sides', 'x'.repeat(70_000), 'x'.repeat(65_000)]
])('an archive with %s is read where it is, from memory and from a file', async (_what, before, behind) => {
  const bytes = Buffer.concat([Buffer.from(before), await anEgg(), Buffer.from(behind)])
  await using directory = await makeTemporaryDirectory()
  const path = join(directory.path, 'an.egg')
  await writeFile(path, bytes)
  for (const source of [bytes, path]) {
    const archive = await openZipArchive(source)
    expect(await inspectArchive(archive)).toEqual(FACTS)
    archive.close()
  }
})

test('an end record more than 64 KiB before the end is ignored, as in Scrapyd', async () => {
  const egg = Buffer.concat([await anEgg(), Buffer.alloc(70_000)])
  await expect(inspectEgg(egg)).rejects.toEqual(refusal('EGG_NOT_A_ZIP', /cannot be read as a zip/))
})

test('the directory that Python would read counts, wherever the end record points', async () => {
  const hidden = Buffer.from(await anEgg([{ name: '../evil.py' }]))
  // Readers that ignore preceding bytes follow this end record to the first archive.
  const egg = Buffer.concat([Buffer.from(await anEgg()), hidden])
  await expect(inspectEgg(egg)).rejects.toEqual(refusal('EGG_UNSAFE', /points outside/))
})

test.each(['EGG-INFO/PKG-INFO', 'EGG-INFO/entry_points.txt'])(
  'a wrong checksum of %s counts as damage',
  async (name) => {
    const egg = Buffer.from(await anEgg())
    for (const [mark, at] of [
      ['PK\x03\x04', 14],
      ['PK\x01\x02', 16]
    ] as const) {
      const header = egg.lastIndexOf(mark, egg.indexOf(name, mark === 'PK\x01\x02' ? egg.indexOf(mark) : 0), 'latin1')
      egg[header + at]! ^= 1
    }
    await expect(inspectEgg(egg)).rejects.toEqual(refusal('EGG_NOT_A_ZIP', /damaged: its checksum is wrong/))
  }
)

test('text, nothing, and half an archive are not zips', async () => {
  const egg = await anEgg()
  for (const bytes of [Buffer.from('hello'), new Uint8Array(0), egg.subarray(0, egg.length / 2)]) {
    await expect(inspectEgg(bytes)).rejects.toEqual(refusal('EGG_NOT_A_ZIP', /cannot be read as a zip/))
  }
})

test('a zip without EGG-INFO is not an egg, and the message says how to make one', async () => {
  const zip = await anArchive([{ name: 'readme.txt' }])
  await expect(inspectEgg(zip)).rejects.toEqual(refusal('EGG_NO_METADATA', /scrapyd-deploy --build-egg/))
})

test.each(['', 'os.system("x")', '1a.b', 'a..b'])('settings %j are invalid', async (settings) => {
  await expect(inspectEgg(await anEgg([], { settings }))).rejects.toEqual(refusal('EGG_NO_SETTINGS', /entry point/))
})

test.each([
  ['../evil.py', /points outside/],
  ['shop/../../evil.py', /points outside/],
  ['/etc/passwd', /absolute/],
  ['C:/evil.py', /names a drive/],
  ['shop\\evil.py', /backslash/],
  ['shop/evil\0.py', /control character/]
])('an entry named %j is refused', async (name, words) => {
  await expect(inspectEgg(await anEgg([{ name }]))).rejects.toEqual(refusal('EGG_UNSAFE', words))
})

test('a symbolic link is refused', async () => {
  const egg = await anEgg([{ name: 'shop/link', content: '/etc/passwd', mode: 0o120777 }])
  await expect(inspectEgg(egg)).rejects.toEqual(refusal('EGG_UNSAFE', /symbolic link/))
})

test('an archive that unpacks to a hundred times its size is refused', async () => {
  const egg = await anEgg([{ name: 'shop/zeros', content: new Uint8Array(20 * 1024 * 1024) }])
  await expect(inspectEgg(egg)).rejects.toEqual(refusal('EGG_UNSAFE', /100 times its size/))
})

test('each limit is named when it is exceeded', async () => {
  const egg = await anEgg([{ name: 'shop/a' }, { name: 'shop/b', content: 'x'.repeat(5000) }])
  const open = (over: Partial<typeof EGG_LIMITS>) => openZipArchive(egg, { ...EGG_LIMITS, ...over })
  await expect(open({ archiveBytes: 100 })).rejects.toEqual(refusal('EGG_TOO_LARGE', /the limit is 0.0 MB/))
  await expect(open({ entries: 3 })).rejects.toEqual(refusal('EGG_UNSAFE', /has 5 entries/))
  await expect(open({ totalBytes: 1000 })).rejects.toEqual(refusal('EGG_TOO_LARGE', /unpacks to more than/))
})

test('a file of 200 MB and one byte is refused before it is opened', async () => {
  const bytes = new Uint8Array(200 * 1024 * 1024 + 1)
  await expect(inspectEgg(bytes)).rejects.toEqual(refusal('EGG_TOO_LARGE', /the limit is 200 MB/))
})

test('an entry that unpacks to more than it declares is damaged, however small it claims to be', async () => {
  const egg = Buffer.from(await anArchive([{ name: 'EGG-INFO/PKG-INFO', content: 'a'.repeat(5000) }]))
  const central = egg.indexOf('PK\x01\x02', 0, 'latin1')
  egg.writeUInt32LE(10, central + 24)
  await expect(inspectEgg(egg)).rejects.toEqual(refusal('EGG_NOT_A_ZIP', /damaged/))
})
