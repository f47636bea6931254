/**
 * The Kubernetes control plane of `npm run test:kubernetes`: API server, controllers and scheduler, built from
 * their Go module, and Debian's etcd. The setup of `npm test` leaves it out, because the first build takes minutes.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { unpackDebianPackages } from './debian-packages.mjs'
import { findGo } from './go.mjs'
import { cacheDirectory } from './platform.mjs'
import { findPython } from './python-environment.mjs'
import { isStamped, stamp } from './stamps.mjs'
import { commandStep, runCommand, step } from './steps.mjs'

const KUBERNETES = '1.36.0'
const OLDEST_GO_MINOR = 26
const [MAJOR, MINOR] = KUBERNETES.split('.')
const VERSION = 'k8s.io/component-base/version'
// Sets the version that the API server reports, because the chart requires one.
const LINKER_FLAGS = [
  ...['-s', '-w', `-X ${VERSION}.gitVersion=v${KUBERNETES}`],
  ...[`-X ${VERSION}.gitMajor=${MAJOR}`, `-X ${VERSION}.gitMinor=${MINOR}`]
].join(' ')
const SOURCE = path.join(import.meta.dirname, '../../e2e/kubernetes/control-plane.go.txt')

/** @returns {Promise<{ controlPlane: string, etcd: string }>} */
export async function ensureControlPlane() {
  const etcd = await ensureEtcd()
  const directory = path.join(cacheDirectory, 'kubernetes')
  const controlPlane = path.join(directory, 'control-plane')
  const source = fs.readFileSync(SOURCE, 'utf8')
  const content = `${KUBERNETES}\n${LINKER_FLAGS}\n${source}`
  if (isStamped('kubernetes', content) && fs.existsSync(controlPlane)) return { controlPlane, etcd }
  const go = await findGo(findPython(), OLDEST_GO_MINOR)
  const build = path.join(directory, 'build')
  fs.mkdirSync(build, { recursive: true })
  fs.writeFileSync(path.join(build, 'main.go'), source)
  const environment = { GOFLAGS: '-mod=mod -buildvcs=false', CGO_ENABLED: '0' }
  const inBuild = { command: go, cwd: build, env: environment }
  await step(`Sources of Kubernetes ${KUBERNETES}`, async () => {
    fs.writeFileSync(path.join(build, 'go.mod'), goModule(go, build, environment))
    await runCommand({ title: 'go mod tidy', args: ['mod', 'tidy'], ...inBuild })
  })
  await commandStep({
    title: `Kubernetes ${KUBERNETES} (some minutes, once)`,
    args: ['build', '-trimpath', `-ldflags=${LINKER_FLAGS}`, '-o', controlPlane, '.'],
    ...inBuild
  })
  stamp('kubernetes', content)
  return { controlPlane, etcd }
}

/** @returns {Promise<string>} the program: an installed one, otherwise Debian's, which is a single file */
async function ensureEtcd() {
  const runs = (/** @type {string} */ program) => spawnSync(program, ['--version']).status === 0
  if (runs('etcd')) return 'etcd'
  const directory = path.join(cacheDirectory, 'etcd')
  const unpacked = path.join(directory, 'usr', 'bin', 'etcd')
  if (!runs(unpacked)) await step('etcd from Debian', async () => unpackDebianPackages(['etcd-server'], directory))
  if (!runs(unpacked)) throw new Error('There is no etcd, and that of Debian does not run here. Install etcd')
  return unpacked
}

/**
 * In Kubernetes' module, its own modules have the version 0.0.0. Replaces them with the released ones.
 * @param {string} go
 * @param {string} cwd
 * @param {Record<string, string>} env
 */
function goModule(go, cwd, env) {
  const head = `module scrapdeck.test/control-plane\n\ngo 1.26.0\n`
  fs.writeFileSync(path.join(cwd, 'go.mod'), head)
  const listed = execFileSync(go, ['mod', 'download', '-json', `k8s.io/kubernetes@v${KUBERNETES}`], {
    cwd,
    env: { ...process.env, ...env },
    encoding: 'utf8'
  })
  const names = fs
    .readFileSync(JSON.parse(listed).GoMod, 'utf8')
    .split('\n')
    .flatMap((line) => /^\s*(k8s\.io\/\S+) v0\.0\.0$/.exec(line)?.[1] ?? [])
  const version = `v0.${KUBERNETES.replace(/^1\./, '')}`
  const replaced = names.map((name) => `\t${name} => ${name} ${version}\n`).join('')
  return `${head}\nrequire k8s.io/kubernetes v${KUBERNETES}\n\nreplace (\n${replaced})\n`
}
