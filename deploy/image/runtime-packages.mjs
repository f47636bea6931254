/**
 * `node runtime-packages.mjs DIRECTORY`: copies what the built service loads from node_modules, with what that depends on,
 * and Node itself. Everything else is in the bundle (service.vite.config.ts).
 */
import fs from 'node:fs'
import path from 'node:path'
import { inRoot, nodePackage } from '../../scripts/setup/platform.mjs'

/** The `external` ones of the bundle, and the page of the API's documentation. */
export const RUNTIME_PACKAGES = [
  ...['better-sqlite3', '@duckdb/node-api', '@napi-rs/keyring', 'pino-pretty', 'open', '@fastify/swagger-ui']
]
/** Served as files, so that its dependencies (a Fastify plugin's) are not needed. */
const FILES_ONLY = ['@fastify/swagger-ui']
/** Sources of what is shipped built. */
const UNUSED = /^better-sqlite3\/(deps|src)$|\.map$/

/** @param {string} directory */
function copyPackages(directory) {
  const wanted = [...RUNTIME_PACKAGES]
  const done = new Set()
  for (const name of wanted) {
    const from = inRoot('node_modules', ...name.split('/'))
    // Optional ones are there for this platform only.
    if (done.has(name) || !fs.existsSync(from)) continue
    done.add(name)
    const filter = (/** @type {string} */ file) => !UNUSED.test(path.relative(inRoot('node_modules'), file))
    fs.cpSync(from, path.join(directory, name), { recursive: true, filter })
    if (FILES_ONLY.includes(name)) continue
    const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
      fs.readFileSync(path.join(from, 'package.json'), 'utf8')
    )
    wanted.push(...Object.keys(dependencies), ...Object.keys(optionalDependencies))
  }
  fs.mkdirSync(path.join(directory, '.bin'), { recursive: true })
  fs.copyFileSync(inRoot('node_modules', nodePackage ?? '', 'bin', 'node'), path.join(directory, '.bin', 'node'))
  for (const name of RUNTIME_PACKAGES) if (!done.has(name)) throw new Error(`node_modules has no ${name}`)
}

if (import.meta.main) copyPackages(process.argv[2] ?? '')
