/**
 * The control plane of Kubernetes that `npm run test:kubernetes` starts: API server, controllers and scheduler of one
 * version, built from their Go module, and Debian's etcd. The build takes minutes, so the setup of `npm test` does not
 * do it; it needs Go, and `etcd` from apt.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { cacheDirectory } from './platform.mjs'
import { isStamped, stamp } from './stamps.mjs'
import { commandStep } from './steps.mjs'

export const KUBERNETES = '1.36.0'
const SOURCE = path.join(import.meta.dirname, '../../e2e/kubernetes/control-plane.go.txt')

/** @returns {Promise<{ controlPlane: string, etcd: string }>} */
export async function ensureControlPlane() {
  const etcd = programOf('etcd')
  if (etcd === null) throw new Error('There is no etcd. Install it: apt-get install etcd-server')
  const directory = path.join(cacheDirectory, 'kubernetes')
  const controlPlane = path.join(directory, 'control-plane')
  const source = fs.readFileSync(SOURCE, 'utf8')
  const content = `${KUBERNETES}\n${source}`
  if (isStamped('kubernetes', content) && fs.existsSync(controlPlane)) return { controlPlane, etcd }
  const go = programOf('go')
  if (go === null) throw new Error('There is no Go, with which the control plane is built. Install Go 1.26 or later')
  const build = path.join(directory, 'build')
  fs.mkdirSync(build, { recursive: true })
  fs.writeFileSync(path.join(build, 'main.go'), source)
  const environment = { GOFLAGS: '-mod=mod -buildvcs=false' }
  fs.writeFileSync(path.join(build, 'go.mod'), await goModule(go, build, environment))
  const inBuild = { command: go, cwd: build, env: environment }
  await commandStep({ title: `Sources of Kubernetes ${KUBERNETES}`, args: ['mod', 'tidy'], ...inBuild })
  await commandStep({
    title: `Kubernetes ${KUBERNETES} (some minutes)`,
    args: ['build', '-trimpath', '-ldflags=-s -w', '-o', controlPlane, '.'],
    ...inBuild
  })
  stamp('kubernetes', content)
  return { controlPlane, etcd }
}

/**
 * Kubernetes' own modules have the version 0.0.0 in its module and are replaced by the released ones.
 *
 * @param {string} go
 * @param {string} cwd
 * @param {Record<string, string>} env
 */
async function goModule(go, cwd, env) {
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

/** @param {string} name @returns {string | null} */
function programOf(name) {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter)
  for (const folder of [...folders, '/usr/local/go/bin']) {
    const file = path.join(folder, name)
    if (fs.existsSync(file)) return file
  }
  return null
}
