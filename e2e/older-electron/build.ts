/**
 * Builds the app for an older Electron into .cache/older-electron/app: the shell as one CommonJS file for its Node, the
 * built preload unchanged, and the built renderer with polyfills and with CSS for its Chromium.
 */
import fs from 'node:fs'
import { join, resolve } from 'node:path'
import { transform } from 'lightningcss'
import { build, type Plugin } from 'rolldown'
import { olderElectron } from '../../scripts/setup/older-electron.mjs'

const projectDirectory = resolve(import.meta.dirname, '../..')
const { appDirectory, toolsDirectory } = olderElectron
const CHROMIUM_MAJOR = 114
const TARGETS = ['node18', `chrome${CHROMIUM_MAJOR}`]

/** What core-js adds to the page. Its Chromium has the rest. */
const FOR_PAGES = ['map/group-by', 'object/group-by', 'promise/with-resolvers', 'promise/try', 'url/can-parse', 'set']
  .concat('iterator', 'array/from-async', 'async-iterator', 'array/to-sorted')
  .map((name) => `import 'core-js/actual/${name}'`)
const ABORT_ANY = `AbortSignal.any ??= (signals) => {
  const all = new AbortController()
  for (const signal of signals) {
    if (signal.aborted) { all.abort(signal.reason); break }
    signal.addEventListener('abort', () => all.abort(signal.reason), { once: true })
  }
  return all.signal
}`

const REPLACED = new Map(
  [
    ['src/engine/runtime/file-secret-box.ts', 'file-secret-box.ts'],
    ['src/engine/nodes/ssh/ssh-tunnels.ts', 'ssh-tunnels.ts'],
    ['src/main/engine-host.ts', 'engine-host.ts'],
    ['src/main/settings.ts', 'settings.ts'],
    ['src/main/remote/remote-engines.ts', 'remote-engines.ts']
  ].map(([from, to]) => [join(projectDirectory, from!), join(import.meta.dirname, 'replaced', to!)])
)
const PACKAGES: Record<string, string> = { electron: 'electron.cjs', pino: 'pino.ts' }

const replace: Plugin = {
  name: 'replace',
  resolveId(id, importer) {
    if (id === 'electron' && importer?.endsWith('electron.cjs')) return { id, external: true }
    const ofPackage = PACKAGES[id]
    if (ofPackage !== undefined) return join(import.meta.dirname, 'replaced', ofPackage)
    if (importer === undefined || !id.startsWith('.')) return null
    return REPLACED.get(resolve(importer, '..', id)) ?? null
  }
}

fs.rmSync(appDirectory, { recursive: true, force: true })
await bundle({ input: join(projectDirectory, 'src/main/index.ts'), file: 'out/main/index.cjs', platform: 'node' })
await bundleText(["import 'core-js/stable'", "import 'core-js/proposals/explicit-resource-management'"], {
  file: 'out/main/polyfills.cjs',
  platform: 'node',
  after: ABORT_ANY
})
fs.writeFileSync(join(appDirectory, 'out/main/start.cjs'), "require('./polyfills.cjs')\nrequire('./index.cjs')\n")
for (const name of ['out/preload', 'out/renderer'])
  fs.cpSync(join(projectDirectory, name), join(appDirectory, name), { recursive: true })
await bundleText(FOR_PAGES, { file: 'out/renderer/assets/polyfills.js', platform: 'browser', after: ABORT_ANY })
const page = join(appDirectory, 'out/renderer/index.html')
const POLYFILLS = '<script src="./assets/polyfills.js"></script>\n    <script'
fs.writeFileSync(page, fs.readFileSync(page, 'utf8').replace('<script', POLYFILLS))
const assets = join(appDirectory, 'out/renderer/assets')
for (const name of fs.readdirSync(assets).filter((file) => file.endsWith('.css'))) {
  const file = join(assets, name)
  const { code } = transform({ filename: name, code: fs.readFileSync(file), targets: { chrome: CHROMIUM_MAJOR << 16 } })
  fs.writeFileSync(file, code)
}
const { name, version } = JSON.parse(fs.readFileSync(join(projectDirectory, 'package.json'), 'utf8'))
fs.writeFileSync(join(appDirectory, 'package.json'), JSON.stringify({ name, version, main: 'out/main/start.cjs' }))
for (const shared of ['resources', 'docs']) fs.symlinkSync(join(projectDirectory, shared), join(appDirectory, shared))

async function bundle({ input, file, platform, after = '' }: Bundle): Promise<void> {
  await build({
    input,
    platform,
    plugins: [replace],
    resolve: { modules: ['node_modules', join(toolsDirectory, 'node_modules')] },
    transform: { target: TARGETS },
    output: {
      file: join(appDirectory, file),
      format: platform === 'node' ? 'cjs' : 'iife',
      sourcemap: 'inline',
      codeSplitting: false,
      footer: after
    },
    logLevel: 'warn'
  })
}

interface Bundle {
  input: string
  file: string
  platform: 'node' | 'browser'
  after?: string
}

async function bundleText(lines: string[], options: Omit<Bundle, 'input'>): Promise<void> {
  const input = join(toolsDirectory, 'polyfills.mjs')
  fs.writeFileSync(input, lines.join('\n'))
  await bundle({ ...options, input })
}
