import { join, resolve, sep } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isKeptName } from './what-is-kept.ts'

test('a valid name in a backup never leads out of the restored directory', () => {
  const parts = fc.constantFrom('..', '.', '', 'local', 'logs', 'work', 'blobs', 'eggs', 'a.zst', '\\', 'C:', '\0', 'x')
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 6 }), fc.boolean(), (names, isAbsolute) => {
      const name = (isAbsolute ? '/' : '') + names.join('/')
      if (!isKeptName(name)) return
      expect(resolve('/data', name)).toBe(join('/data', name))
      expect(resolve('/data', name).startsWith(`/data${sep}`)).toBe(true)
      expect(name).not.toMatch(/\\|\0|(^|\/)\.\.?(\/|$)/)
    })
  )
})

test('a backup contains data, but no locks, sockets or files that only the running service uses', () => {
  for (const name of [
    'scrapdeck.sqlite',
    'secret.key',
    'blobs/eggs/ab.sealed',
    'local/logs/p/s/1.log',
    'tls/ca-key.pem'
  ])
    expect(isKeptName(name), name).toBe(true)
  for (const name of [
    'engine.lock',
    'service.json',
    'sessions.json',
    'scrapdeck.sqlite-wal',
    'blobs/x',
    'plugins/a.js'
  ])
    expect(isKeptName(name), name).toBe(false)
})
