/**
 * Adds the optional packages of other platforms that npm left out of package-lock.json.
 *
 * Behind a registry mirror that lacks the binaries of some platforms, `npm install` leaves them out of the lock.
 * `npm ci` then rejects that lock everywhere ("Missing: … from lock file"). The added entries have the version,
 * platform and integrity from the registry's metadata. Run this (`npm run lock:complete`) after each change of a
 * dependency.
 */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { inRoot, npmCommand } from './setup/platform.mjs'

const PLATFORM = /(android|darwin|freebsd|linux|openharmony|win32)-(arm64|arm|x64|ia32|ppc64|riscv64|s390x)(?:-(\w+))?$/

const file = inRoot('package-lock.json')
const lock = JSON.parse(fs.readFileSync(file, 'utf8'))
const added = []

for (const [place, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const isThere = [`${place}/node_modules/${name}`, `node_modules/${name}`].some((key) => lock.packages[key])
    if (isThere) continue
    const [, os, cpu, abi = ''] = PLATFORM.exec(name) ?? []
    if (!os || !/^\d+\.\d+\.\d+/.test(version)) throw new Error(`${name}@${version}: add this optional package by hand`)
    lock.packages[`node_modules/${name}`] = {
      version,
      cpu: [cpu],
      ...(entry.dev ? { dev: true } : {}),
      ...(os === 'linux' ? { libc: [abi.startsWith('musl') ? 'musl' : 'glibc'] } : {}),
      optional: true,
      os: [os]
    }
    added.push(name)
  }
}

for (const [place, entry] of Object.entries(lock.packages)) {
  if (place === '' || entry.integrity || entry.link) continue
  const name = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const answer = spawnSync(npmCommand, ['view', `${name}@${entry.version}`, 'dist.integrity'], { encoding: 'utf8' })
  const integrity = answer.stdout.trim()
  if (/^sha512-\S+$/.test(integrity)) lock.packages[place] = { version: entry.version, integrity, ...entry }
  else console.log(`The registry has no integrity of ${name}@${entry.version}`)
}

lock.packages = Object.fromEntries(
  Object.entries(lock.packages).sort(([one], [other]) => one.localeCompare(other, 'en'))
)
fs.writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
console.log(added.length > 0 ? `Added ${added.join(', ')}` : 'Nothing was missing')
