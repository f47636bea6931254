import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { hashOf } from './stamps.mjs'

let folder = ''
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'scrapdeck-stamps-'))
  fs.mkdirSync(path.join(folder, 'deep'))
  fs.writeFileSync(path.join(folder, 'deep', 'one.ts'), 'one')
})
afterEach(() => fs.rmSync(folder, { recursive: true }))

test('a file that is changed, moved or added changes the hash of its folder', () => {
  const before = hashOf([folder])
  fs.writeFileSync(path.join(folder, 'deep', 'one.ts'), 'two')
  const changed = hashOf([folder])
  fs.renameSync(path.join(folder, 'deep', 'one.ts'), path.join(folder, 'one.ts'))
  const moved = hashOf([folder])
  fs.writeFileSync(path.join(folder, 'two.ts'), '')
  const grown = hashOf([folder])
  expect(new Set([before, changed, moved, grown]).size).toBe(4)
})

test('a new modification time on the same content changes nothing: git sets times as it likes', () => {
  const before = hashOf([folder])
  fs.utimesSync(path.join(folder, 'deep', 'one.ts'), 1, 1)
  expect(hashOf([folder])).toBe(before)
})

test('missing inputs are skipped, and other dependencies of the result count', () => {
  expect(hashOf([folder, path.join(folder, 'missing')])).toBe(hashOf([folder]))
  expect(hashOf([folder], ['scrapyd==1.6.0'])).not.toBe(hashOf([folder], ['scrapyd==1.5.0']))
})
