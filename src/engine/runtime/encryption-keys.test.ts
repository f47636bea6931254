import { randomBytes } from 'node:crypto'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeTemporaryDirectory } from '../testing/temporary-directory.ts'
import {
  idOfKey,
  NO_KEYS,
  openEncryptionKeys,
  parseEncryptionKeys,
  isAllSealed,
  recordKeys
} from './encryption-keys.ts'

const key = () => randomBytes(32)

describe('keys of stored files', () => {
  test('are read newest first, as hexadecimal digits or base64, between comments', () => {
    const [one, other] = [key(), key()]
    const text = `# new\r\n${one.toString('base64')}\n\n${other.toString('hex').toUpperCase()}\nlost 0123456789abcdef\n`
    const keys = parseEncryptionKeys(text, 'a file')
    expect(keys.ids).toEqual([idOfKey(one), idOfKey(other)])
    expect(keys.newest!.bytes).toEqual(one)
    expect(keys.find(idOfKey(other), 'x')).toEqual(other)
    expect(keys.lostIds).toEqual(['0123456789abcdef'])
  })

  test('refuse any other line by its number, without its content', () => {
    const line = fc.string({ unit: 'grapheme-ascii' }).filter((text) => !/^\s*(#|$|lost )/.test(text))
    fc.assert(
      fc.property(line, (text) => {
        const parse = () => parseEncryptionKeys(`${key().toString('hex')}\nsecret ${text}`, 'a file')
        expect(parse).toThrow('Line 2 of a file is not a key')
        expect(parse).not.toThrow('secret')
      })
    )
  })

  test.each([
    ['no key', '# nothing\n'],
    ['the same key twice', `${'a1'.repeat(32)}\n${'A1'.repeat(32)}\n`],
    ['more than 100 keys', Array.from({ length: 101 }, () => key().toString('hex')).join('\n')],
    ['is not a key', `${'a1'.repeat(31)}\n`]
  ])('%s is refused', (why, text) => {
    expect(() => parseEncryptionKeys(text, 'a file')).toThrow(why)
  })

  test.skipIf(process.platform === 'win32')(
    'come from a file that only its owner can read, or from a command',
    async () => {
      const temporary = await makeTemporaryDirectory()
      onTestFinished(temporary.remove)
      const path = join(temporary.path, 'keys')
      const one = key()
      await writeFile(path, one.toString('hex'), { mode: 0o600 })
      for (const options of [
        { keyFile: path, keyCommand: null },
        { keyFile: null, keyCommand: `cat ${path}` }
      ])
        expect((await openEncryptionKeys(options)).ids).toEqual([idOfKey(one)])
      await chmod(path, 0o640)
      const refused = openEncryptionKeys({ keyFile: path, keyCommand: null })
      await expect(refused).rejects.toThrow('can be read by other users')
      const failed = openEncryptionKeys({ keyFile: null, keyCommand: 'echo geheim; echo geheim >&2; exit 3' })
      await expect(failed).rejects.toThrow(/failed \(3\)/)
      await expect(failed).rejects.not.toThrow('geheim')
      const missing = openEncryptionKeys({ keyFile: join(temporary.path, 'none'), keyCommand: null })
      await expect(missing).rejects.toMatchObject({
        code: 'ENCRYPTION_KEYS_UNUSABLE',
        message: expect.stringContaining('ENOENT')
      })
      expect(await openEncryptionKeys(null)).toBe(NO_KEYS)
    }
  )
})

test('are known to the store as long as it needs them, until everything is encrypted with the newest', () => {
  const [one, other] = [key().toString('hex'), key().toString('hex')]
  const [first, both] = [parseEncryptionKeys(one, 'x'), parseEncryptionKeys(`${other}\n${one}`, 'x')]
  const [oneId, otherId] = [first.newest!.id, both.newest!.id]
  expect(recordKeys(null, NO_KEYS)).toBeNull()
  expect(recordKeys(null, first)).toBe(`${oneId} plain`)
  expect(recordKeys(`${oneId} plain`, both)).toBe(`${otherId} ${oneId} plain`)
  expect(recordKeys(oneId, both)).toBe(`${otherId} ${oneId}`)
  expect([isAllSealed(oneId, first), isAllSealed(`${oneId} plain`, first)]).toEqual([true, false])
  const missing = expect.objectContaining({ code: 'ENCRYPTION_KEY_MISSING', message: expect.stringContaining(oneId) })
  for (const keys of [NO_KEYS, parseEncryptionKeys(other, 'x')]) {
    let thrown: unknown
    try {
      recordKeys(`${oneId} plain`, keys)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toEqual(missing)
  }
  expect(recordKeys(oneId, parseEncryptionKeys(`${other}\nlost ${oneId}`, 'x'))).toBe(`${otherId} ${oneId}`)
})
