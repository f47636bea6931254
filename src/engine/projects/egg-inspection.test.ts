import { expect, test } from 'vitest'
import type { ErrorCode } from '../../shared/errors.ts'
import { anArchive, anEgg } from '../testing/archives.ts'
import { inspectEgg } from './egg-inspection.ts'
import { EGG_LIMITS, openZipArchive } from './zip-archive.ts'

function refusal(code: ErrorCode, words: RegExp) {
  return expect.objectContaining({ code, message: expect.stringMatching(words) })
}

test('an egg tells its name, version and settings module', async () => {
  expect(await inspectEgg(await anEgg())).toEqual({ name: 'shop', version: '2.0', settingsModule: 'shop.settings' })
})

test('an empty PKG-INFO is enough, as for Scrapyd; a settings object after a colon is cut off', async () => {
  const egg = await anArchive([
    { name: 'EGG-INFO/PKG-INFO' },
    { name: 'EGG-INFO/entry_points.txt', content: '[console_scripts]\nsettings = no\n\n[scrapy]\nsettings = a.b:c\n' }
  ])
  expect(await inspectEgg(egg)).toEqual({ name: null, version: null, settingsModule: 'a.b' })
})

test('text, nothing, and half an archive are not zips', async () => {
  const egg = await anEgg()
  for (const bytes of [Buffer.from('hello'), new Uint8Array(0), egg.subarray(0, egg.length / 2)]) {
    await expect(inspectEgg(bytes)).rejects.toEqual(refusal('EGG_NOT_A_ZIP', /cannot be read as a zip/))
  }
})

test('a zip without EGG-INFO is no egg, and the message says how to make one', async () => {
  const zip = await anArchive([{ name: 'readme.txt' }])
  await expect(inspectEgg(zip)).rejects.toEqual(refusal('EGG_NO_METADATA', /scrapyd-deploy --build-egg/))
})

test.each(['', 'os.system("x")', '1a.b', 'a..b'])('settings %j are no settings', async (settings) => {
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

test('each limit is named when it is passed', async () => {
  const egg = await anEgg([{ name: 'shop/a' }, { name: 'shop/b', content: 'x'.repeat(5000) }])
  const open = (over: Partial<typeof EGG_LIMITS>) => openZipArchive(egg, { ...EGG_LIMITS, ...over })
  await expect(open({ archiveBytes: 100 })).rejects.toEqual(refusal('EGG_TOO_LARGE', /the limit is 0.0 MB/))
  await expect(open({ entries: 3 })).rejects.toEqual(refusal('EGG_UNSAFE', /has 5 entries/))
  await expect(open({ totalBytes: 1000 })).rejects.toEqual(refusal('EGG_TOO_LARGE', /unpacks to more than/))
})

test('a file of 200 MB and one byte is refused before it is looked into', async () => {
  const bytes = new Uint8Array(200 * 1024 * 1024 + 1)
  await expect(inspectEgg(bytes)).rejects.toEqual(refusal('EGG_TOO_LARGE', /the limit is 200 MB/))
})

test('an entry that unpacks to more than it says is damaged, however small it claims to be', async () => {
  const egg = Buffer.from(await anArchive([{ name: 'EGG-INFO/PKG-INFO', content: 'a'.repeat(5000) }]))
  const central = egg.indexOf('PK\x01\x02', 0, 'latin1')
  egg.writeUInt32LE(10, central + 24)
  await expect(inspectEgg(egg)).rejects.toEqual(refusal('EGG_NOT_A_ZIP', /damaged/))
})
