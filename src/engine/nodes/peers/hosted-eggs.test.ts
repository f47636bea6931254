import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { aProjectName, aVersionName } from '../../../shared/testing/ids.ts'
import { HostedEggs } from './hosted-eggs.ts'

const shop = aProjectName('shop')

async function open() {
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-hosted-eggs-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const eggs = await HostedEggs.open(directory)
  const put = async (version: string, content: string) => {
    const sha256 = createHash('sha256').update(content).digest('hex')
    await eggs.put(
      { project: shop, version: aVersionName(version), sha256 },
      Readable.from([Buffer.from(content)]),
      async () => {}
    )
    return eggs.pathOf(shop, aVersionName(version))!
  }
  return { eggs, put }
}

test('a replaced egg is deleted once all runs have ended that may import from it, whatever has started since', async () => {
  const { eggs, put } = await open()
  const old = await put('1', 'old')
  const now = await put('1', 'new')
  await eggs.sweep(['a', 'b'])
  await eggs.sweep(['b', 'c'])
  expect([existsSync(old), existsSync(now)]).toEqual([true, true])
  await eggs.sweep(['c', 'd'])
  expect([existsSync(old), existsSync(now)]).toEqual([false, true])
})

test('an egg that is stored again while a run may import from it stays', async () => {
  const { eggs, put } = await open()
  const old = await put('1', 'old')
  await put('1', 'new')
  await eggs.sweep(['a'])
  expect(await put('1', 'old')).toBe(old)
  await eggs.sweep([])
  expect(existsSync(old)).toBe(true)
  expect(await eggs.remove(shop, aVersionName('1'))).toBe(true)
  await eggs.sweep([])
  expect(existsSync(old)).toBe(false)
})
