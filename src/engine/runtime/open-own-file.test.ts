import { mkdir, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { makeTemporaryDirectory } from '../testing/temporary-directory.ts'
import { openOwnFile } from './regular-file.ts'

it('files of a folder can be opened, but nothing that a link in it leads to', async () => {
  const directory = await makeTemporaryDirectory()
  onTestFinished(() => directory.remove())
  const at = (...names: string[]) => join(directory.path, ...names)
  await mkdir(at('work/shop'), { recursive: true })
  await mkdir(at('other'))
  await Promise.all(['secret.key', 'work/shop/own', 'other/own'].map((name) => writeFile(at(name), name)))
  await symlink(at('secret.key'), at('work/shop/key'))
  const read = async (name: string) => {
    const file = await openOwnFile(at('work'), name)
    onTestFinished(async () => file?.close())
    return file === null ? null : await file.readFile('utf8')
  }
  expect(await read('shop/own')).toBe('work/shop/own')
  expect([await read('shop/key'), await read('shop'), await read('shop/none'), await read('shop/own/x')]).toEqual(
    Array.from({ length: 4 }, () => null)
  )
  await rename(at('work/shop'), at('work/before'))
  await symlink(at('other'), at('work/shop'))
  expect(await read('shop/own')).toBeNull()
})
