import fs from 'node:fs'
import { isBuiltin } from 'node:module'
import path from 'node:path'
import { expect, test } from 'vitest'
import { inRoot } from './setup/platform.mjs'

test.each(['start.mjs', 'test.mjs', 'demo.mjs', 'setup-node.mjs'])(
  '%s runs before anything is installed: it imports only our own .mjs files and Node modules',
  (name) => {
    const imported = importsOf(inRoot('scripts', name))
    expect(imported.size).toBeGreaterThan(4)
    expect([...imported].filter((file) => !isBuiltin(file) && !file.endsWith('.mjs'))).toEqual([])
  }
)

function importsOf(file: string, seen = new Set<string>()): Set<string> {
  for (const [, imported = ''] of fs.readFileSync(file, 'utf8').matchAll(/^import [^']*from '([^']+)'$/gm)) {
    const target = imported.startsWith('.') ? path.join(path.dirname(file), imported) : imported
    if (seen.has(target)) continue
    seen.add(target)
    if (target.endsWith('.mjs')) importsOf(target, seen)
  }
  return seen
}
