import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { makeTemporaryDirectory } from '../testing/temporary-directory.ts'
import { openFileSecretBox, openNamedSecretBox } from './file-secret-box.ts'
import { asSealedText } from './secret-box.ts'

describe('the secret box with a key file', () => {
  let directory: string
  let keyPath: string

  beforeEach(async () => {
    const temporary = await makeTemporaryDirectory()
    onTestFinished(temporary.remove)
    directory = temporary.path
    keyPath = join(directory, 'data', 'secret.key')
  })

  test('decrypts what it encrypted, also as another box with the same key', async () => {
    const box = await openFileSecretBox(keyPath)
    const again = await openFileSecretBox(keyPath)
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), async (secret) => {
        expect(await again.open(await box.seal(secret))).toBe(secret)
      })
    )
  })

  test('accepts a named key file that others can read, as mounted secrets are, but never creates it', async () => {
    const box = await openFileSecretBox(keyPath)
    await chmod(keyPath, 0o444)
    await expect(openFileSecretBox(keyPath)).rejects.toThrow('can be read by other users')
    const named = await openNamedSecretBox(keyPath)
    expect(await named.open(await box.seal('swordfish'))).toBe('swordfish')
    const missing = join(directory, 'missing.key')
    await expect(openNamedSecretBox(missing)).rejects.toThrow('cannot be read (ENOENT)')
    await expect(stat(missing)).rejects.toThrow('ENOENT')
    await writeFile(missing, 'a password\n')
    await expect(openNamedSecretBox(missing)).rejects.toThrow('openssl rand -hex 32')
  })

  test('encrypts the same secret differently each time, without revealing it', async () => {
    const box = await openFileSecretBox(keyPath)
    const [first, second] = [await box.seal('swordfish'), await box.seal('swordfish')]
    expect(first).not.toBe(second)
    expect(Buffer.from(first.slice(3), 'base64').toString('latin1')).not.toContain('swordfish')
  })

  test.skipIf(process.platform === 'win32')(
    'creates the key file for its owner only, with no other file beside it',
    async () => {
      await openFileSecretBox(keyPath)
      expect((await stat(keyPath)).mode & 0o777).toBe(0o600)
      expect(await readdir(join(directory, 'data'))).toEqual(['secret.key'])
    }
  )

  test('refuses encrypted text that was changed anywhere, or has another key', async () => {
    const box = await openFileSecretBox(keyPath)
    const other = await openFileSecretBox(join(directory, 'other.key'))
    const sealed = await box.seal('swordfish')
    const bytes = Buffer.from(sealed.slice(3), 'base64')
    for (let index = 0; index < bytes.length; index += 1) {
      const changed = Buffer.from(bytes)
      changed[index] = (changed[index] as number) ^ 1
      await expect(box.open(asSealedText(`v1.${changed.toString('base64')}`))).rejects.toThrow('Enter it again')
    }
    for (const wrong of ['', 'v1.', 'swordfish', sealed.slice(3), sealed.slice(0, 20)]) {
      await expect(box.open(asSealedText(wrong))).rejects.toThrow('Enter it again')
    }
    await expect(other.open(sealed)).rejects.toThrow('Enter it again')
  })

  test('gets the same key in several concurrent openers', async () => {
    const boxes = await Promise.all(Array.from({ length: 8 }, () => openFileSecretBox(keyPath)))
    const sealed = await Promise.all(boxes.map((box) => box.seal('swordfish')))
    for (const box of boxes) {
      for (const text of sealed) expect(await box.open(text)).toBe('swordfish')
    }
  })

  test('refuses a damaged key file and never overwrites it', async () => {
    await openFileSecretBox(keyPath)
    await writeFile(keyPath, 'short')
    await expect(openFileSecretBox(keyPath)).rejects.toMatchObject({ code: 'DATA_DIRECTORY_UNUSABLE' })
    expect(await readFile(keyPath, 'utf8')).toBe('short')
  })

  test.skipIf(process.platform === 'win32')('refuses a key file that others can read', async () => {
    await openFileSecretBox(keyPath)
    await chmod(keyPath, 0o644)
    await expect(openFileSecretBox(keyPath)).rejects.toThrow('chmod 600')
  })

  test('explains why a key file cannot be created', async () => {
    await writeFile(join(directory, 'data'), 'a file where the directory should be')
    await expect(openFileSecretBox(keyPath)).rejects.toMatchObject({ code: 'DATA_DIRECTORY_UNUSABLE' })
  })
})
