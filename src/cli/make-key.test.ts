import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openEncryptionKeys, parseEncryptionKeys } from '../engine/runtime/encryption-keys.ts'
import { makeTemporaryDirectory } from '../engine/testing/temporary-directory.ts'
import { makeKey } from './make-key.ts'

test('a key file is created once, readable by its owner only, and keys are added at either end', async () => {
  const temporary = await makeTemporaryDirectory()
  onTestFinished(temporary.remove)
  const path = join(temporary.path, 'keys')
  const first = await makeKey(path, null, 0)
  await expect(makeKey(path, null, 0)).rejects.toMatchObject({
    code: 'BAD_INPUT',
    message: expect.stringContaining('--add')
  })
  const newest = await makeKey(path, 'first', 0)
  const last = await makeKey(path, 'last', 0)
  const keys = await openEncryptionKeys({ keyFile: path, keyCommand: null })
  expect(keys.ids).toEqual([newest, first, last])
  expect(keys.newest!.id).toBe(newest)
  if (process.platform !== 'win32') expect((await stat(path)).mode & 0o777).toBe(0o600)
})

test('any other file is left unchanged', async () => {
  const temporary = await makeTemporaryDirectory()
  onTestFinished(temporary.remove)
  const path = join(temporary.path, 'notes')
  await writeFile(path, 'a note')
  await expect(makeKey(path, 'first', 0)).rejects.toMatchObject({ code: 'ENCRYPTION_KEYS_UNUSABLE' })
  expect(await readFile(path, 'utf8')).toBe('a note')
  await expect(makeKey(join(temporary.path, 'none'), 'last', 0)).rejects.toMatchObject({ code: 'BAD_INPUT' })
  expect(() => parseEncryptionKeys('', 'it')).toThrow('no key')
})
