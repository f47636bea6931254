/**
 * `npm run test:helm` lints the chart, renders it with several sets of values and validates the result against the
 * schemas of Kubernetes. With KUBECONFIG, it also installs, upgrades and removes the chart on that API server,
 * which need not run pods, in HELM_NAMESPACE (default: scrapdeck-test).
 */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseAllDocuments } from 'yaml'
import { ensureGoProgram, ensurePythonPrograms } from '../setup/container-tools.mjs'
import { showFailure } from '../setup/steps.mjs'
import { CHART, HELM, POSTGRES, setting, VALUE_SETS } from './chart.ts'

/** The oldest and the newest version that both Chart.yaml and the validator accept. */
const KUBERNETES = ['1.29', '1.37']
/** Settings that the schema of the values must refuse, and a word that each error must contain. */
const REFUSED: [string[], string][] = [
  [['engine.mode=postgres'], 'store'],
  [['engine.mode=mysql'], 'mode'],
  [['engine.store=postgres://user:password@db/x', 'engine.mode=postgres'], 'store'],
  [['engine.autoscaling.enabled=true'], 'enabled'],
  [['scrapyd.slot=3'], 'slot'],
  [['ingress.enabled=true'], 'host'],
  [['scrapyd.refreshSeconds=1'], 'refreshSeconds']
]

interface Container {
  name: string
  securityContext?: {
    readOnlyRootFilesystem?: boolean
    allowPrivilegeEscalation?: boolean
    capabilities?: { drop?: string[] }
  }
  resources?: { requests?: { memory?: string }; limits?: { memory?: string } }
  readinessProbe?: object
  livenessProbe?: object
  startupProbe?: object
  lifecycle?: { preStop?: object }
  volumeMounts: { name: string }[]
}

interface Pod {
  securityContext?: { runAsNonRoot?: boolean; seccompProfile?: { type?: string } }
  automountServiceAccountToken?: boolean
  containers: [Container, ...Container[]]
  initContainers?: Container[]
}

type Resource = { kind: string; metadata: { name: string }; spec?: { template: { spec: Pod } } }

try {
  await main()
} catch (error) {
  showFailure(error)
  process.exitCode = 1
}

async function main(): Promise<void> {
  const helm = await ensureGoProgram(HELM)
  const validator = path.join(await ensurePythonPrograms(), 'kubernetes-validate')
  run(helm, ['lint', '--strict', CHART])
  console.log('✓ The chart passes the linter')
  for (const [name, values] of Object.entries(VALUE_SETS)) {
    const text = run(helm, ['template', 'deck', CHART, '--namespace', 'crawl', ...setting(values)])
    for (const version of KUBERNETES) validate(validator, text, version)
    const resources = parseAllDocuments(text).map((document) => document.toJS() as Resource | null)
    const pods = checkPods(resources.filter((one) => one !== null))
    console.log(
      `✓ ${name}: ${resources.length} resources, ${pods} pods, valid for Kubernetes ${KUBERNETES.join(' and ')}`
    )
  }
  for (const [values, what] of REFUSED) {
    const { status, stderr } = spawnSync(helm, ['template', 'deck', CHART, ...setting(values)], { encoding: 'utf8' })
    if (status === 0 || !stderr.includes(what)) throw new Error(`${values.join(' ')} was not refused: ${stderr}`)
  }
  console.log(`✓ ${REFUSED.length} wrong sets of values are refused by name`)
  requireThatTyposAreSeen(helm, validator)
  if (process.env['KUBECONFIG'] === undefined) {
    console.log('! Not installed: set KUBECONFIG to install it on an API server')
    return
  }
  install(helm)
}

function validate(validator: string, text: string, version: string): void {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'scrapdeck-helm-')), 'rendered.yaml')
  try {
    fs.writeFileSync(file, text)
    run(validator, ['--strict', '--no-warn', '--quiet', '-k', version, file])
  } finally {
    fs.rmSync(path.dirname(file), { recursive: true })
  }
}

function requireThatTyposAreSeen(helm: string, validator: string): void {
  const text = run(helm, ['template', 'deck', CHART]).replace('readinessProbe:', 'readynessProbe:')
  try {
    validate(validator, text, KUBERNETES[1]!)
  } catch {
    console.log('✓ The validation finds a misspelt field')
    return
  }
  throw new Error('The validation did not find a misspelt field')
}

/** Returns the number of pods. */
function checkPods(resources: Resource[]): number {
  const sets = resources.filter(({ kind }) => ['Deployment', 'StatefulSet'].includes(kind))
  for (const { metadata, spec } of sets) {
    const pod = spec!.template.spec
    const require = (isRight: unknown, what: string) => {
      if (!isRight) throw new Error(`${metadata.name}: ${what}`)
    }
    require(pod.securityContext?.runAsNonRoot === true, 'may run as root')
    require(pod.securityContext?.seccompProfile?.type === 'RuntimeDefault', 'has no seccomp profile')
    require(pod.automountServiceAccountToken === false, 'gets a token of the API server')
    for (const container of [...pod.containers, ...(pod.initContainers ?? [])]) {
      const { securityContext: security = {}, resources: limits = {}, name } = container
      require(security.readOnlyRootFilesystem === true, `${name} can write its root`)
      require(security.allowPrivilegeEscalation === false, `${name} may gain privileges`)
      require(security.capabilities?.drop?.includes('ALL'), `${name} has capabilities`)
      require(limits.requests?.memory && limits.limits?.memory, `${name} has no memory request or limit`)
    }
    const main = pod.containers[0]
    require(main.readinessProbe && main.livenessProbe && main.startupProbe, `${main.name} has no probes`)
    require(main.lifecycle?.preStop, `${main.name} is not stopped in order`)
    // A spider could read the mounted files.
    const mounted = main.volumeMounts.map((mount) => mount.name)
    if (main.name === 'scrapyd')
      require(!mounted.some((one) => one.includes('secret')), 'spiders see secrets of Scrapdeck')
    const text = JSON.stringify(spec)
    require(!/"password","value"/.test(text), 'has a password in its definition')
  }
  return sets.length
}

/** Installs, upgrades and removes a real release. A real API server also applies its defaults and admission checks. */
function install(helm: string): void {
  const namespace = process.env['HELM_NAMESPACE'] ?? 'scrapdeck-test'
  const at = ['--namespace', namespace]
  const passwordOf = () =>
    /^ {2}password: (\S+)$/m.exec(run(helm, ['get', 'manifest', 'deck', ...at]))?.[1] ?? 'no password'
  const names = () => parseAllDocuments(run(helm, ['get', 'manifest', 'deck', ...at])).length
  spawnSync(helm, ['uninstall', 'deck', ...at])
  try {
    run(helm, ['install', 'deck', CHART, ...at, '--create-namespace'])
    console.log(`✓ Installed in ${namespace}: ${names()} resources`)
    const before = passwordOf()
    run(helm, ['upgrade', 'deck', CHART, ...at, '--set', 'scrapyd.replicas=5'])
    if (before === 'no password' || passwordOf() !== before) throw new Error('The upgrade changed the password')
    console.log('✓ Upgraded: the generated password stays')
    // This mode uses another kind of workload with the same name, so Helm replaces it.
    run(helm, ['upgrade', 'deck', CHART, ...at, ...setting(POSTGRES), '--set', 'engine.autoscaling.enabled=true'])
    console.log('✓ Upgraded from SQLite to PostgreSQL')
  } finally {
    const { status } = spawnSync(helm, ['uninstall', 'deck', ...at])
    if (status === 0) console.log('✓ Uninstalled')
  }
}

function run(command: string, args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  if (status !== 0)
    throw new Error(`${path.basename(command)} ${args.slice(0, 6).join(' ')} failed:\n${stderr}${stdout}`)
  return stdout
}
