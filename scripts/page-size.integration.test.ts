import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { inRoot } from './setup/platform.mjs'

/** The built user interface, which `npm test` builds before the tests run. */
const directory = inRoot('out', 'renderer')
const page = readFileSync(path.join(directory, 'index.html'), 'utf8')
const named = [...page.matchAll(/"\.\/(assets\/[^"]+\.(?:js|css))"/g)].map(([, file]) => file!)

test('before its first screen the page loads at most 300 kB of scripts and styles, compressed with gzip', () => {
  expect(named.length).toBeGreaterThan(1)
  const sizes = named.map((file) => gzipSync(readFileSync(path.join(directory, file)), { level: 9 }).length)
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(300_000)
})

test('each script and style of the page is minified, and beside it are compressed copies of it', () => {
  const assets = path.join(directory, 'assets')
  const files = readdirSync(assets).filter((name) => /\.(js|css)$/.test(name))
  expect(files.length).toBeGreaterThan(100)
  for (const name of files) {
    const content = readFileSync(path.join(assets, name))
    expect(gunzipSync(readFileSync(path.join(assets, `${name}.gz`))).equals(content)).toBe(true)
    expect(brotliDecompressSync(readFileSync(path.join(assets, `${name}.br`))).equals(content)).toBe(true)
  }
  const app = readFileSync(path.join(directory, named.find((file) => file.endsWith('.js'))!), 'utf8')
  expect(app.length / app.split('\n').length).toBeGreaterThan(500)
  expect(existsSync(path.join(directory, 'index.html.br'))).toBe(false)
})
