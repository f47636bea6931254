import { problemOfTiming } from '../../../shared/calendar/index.ts'
import {
  type NodeId,
  SECRET_MASK,
  type SourceId,
  type StoragePolicy,
  type StoragePreview
} from '../../../shared/contract/index.ts'
import { formatBytes } from '../../../shared/format-bytes.ts'
import { mapDefaults } from '../../../shared/job-defaults.ts'
import { checkTemplate } from '../commands/check-template.ts'
import { checkSecretNames } from '../commands/template-secrets.ts'
import { checkSource } from '../../nodes/discovery/check-source.ts'
import { engineOfAddress } from '../../../shared/engine-address.ts'
import { idOfPulling } from '../../nodes/pulling/node-token.ts'
import { parseClusterUrl } from '../../nodes/kubernetes/cluster-url.ts'
import { checkCertificates } from '../../nodes/scrapyd/certificates.ts'
import { parseNodeUrl } from '../../nodes/scrapyd/node-url.ts'
import { parseProxyUrl, refuseProxyOverSsh } from '../../nodes/scrapyd/proxy.ts'
import { yielder } from '../../runtime/yielder.ts'
import { checkTemplates } from '../../schedules/template.ts'
import { missingNames, withUsual } from './alert-rules.ts'
import type { FleetFileParts } from './apply-step.ts'
import {
  type FileAlert,
  type FileNode,
  type FileProject,
  type FileRetention,
  type FileSchedule,
  type FileSource,
  type FileTemplate,
  type FileWebhook,
  type FleetForm,
  policyOfFile,
  settingsFromFile,
  templateFromFile
} from './form.ts'
import type { CurrentFleet, Step } from './plan.ts'
import { refuse } from './yaml.ts'

const ANY_NODE = { get: () => ({}) as never }
const asId = (name: string) => name as NodeId

/**
 * Normalizes addresses and refers to nodes by name, so that identical items compare as equal. Throws
 * FLEET_FILE_INVALID if a node is in neither the file nor the fleet, or if two nodes have the same address.
 */
export function normalise(form: FleetForm, current: CurrentFleet): FleetForm {
  const problems: string[] = []
  const nodes = form.nodes?.map((node) => attempt(`node ${node.name}`, () => withAddress(node)) ?? node)
  const seen = new Map<string, FileNode>()
  for (const node of nodes ?? []) {
    const other = seen.get(node.url)
    seen.set(node.url, node)
    if (other === undefined) continue
    const what = node.kind === 'local' ? 'are both the local node' : `have the same address ${node.url}`
    problems.push(`the nodes ${other.name} and ${node.name} ${what}`)
  }
  if (nodes?.some(({ kind }) => kind === 'local') && !current.nodes.some(({ item }) => item.kind === 'local')) {
    problems.push('it has a local node, but this service runs without one: remove it from the file')
  }
  const engines = new Set(current.nodes.flatMap(({ item }) => (item.kind === 'engine' ? item.url : [])))
  const absent = nodes?.filter(({ kind, url }) => kind === 'engine' && !engines.has(url)) ?? []
  if (absent.length > 0) {
    const names = absent.map(({ name }) => name).join(', ')
    problems.push(
      `there are no engines with these local nodes: ${names}. Start them first, or remove them from the file`
    )
  }
  const known = [...current.nodes.map(({ item }) => item), ...(nodes ?? [])]
  const names = new Set(known.map(({ name }) => name))
  const nameAt = new Map(known.map(({ url, name }) => [url, name]))
  const missing = new Map<string, string[]>()
  const named = <T extends { node: string | null }>(template: T, what: string): T => {
    if (template.node === null) return template
    const { node } = template
    const found = names.has(node) ? node : nameAt.get(storedForm(node, (text) => parseNodeUrl(text).url))
    if (found === undefined) missing.set(node, [...(missing.get(node) ?? []), what])
    return { ...template, node: found ?? node }
  }
  const schedules = form.schedules?.map((schedule) => ({
    ...schedule,
    jobs: schedule.jobs.map((template) => named(template, `schedule ${schedule.name}`))
  }))
  const chains = form.chains?.map((chain) => ({ ...chain, run: named(chain.run, `chain ${chain.name}`) }))
  const projects = form.projects?.map((project) => ({
    ...project,
    ...mapDefaults(project, (one) => named(one, `project ${project.name}`))
  }))
  for (const [node, users] of missing) {
    const others = users.length > 1 ? ` and ${users.length - 1} more` : ''
    problems.push(`${users[0]}${others} would run on the node "${node}", which is neither in the file nor in the fleet`)
  }
  if (problems.length > 0) refuse(problems)
  const parts = { ...(nodes && { nodes }), ...(projects && { projects }) }
  const alerts = form.alerts?.map(withUsual)
  return {
    ...form,
    ...parts,
    ...(schedules && { schedules }),
    ...(chains && { chains }),
    ...(alerts && { alerts })
  }

  function attempt<T>(what: string, work: () => T): T | undefined {
    try {
      return work()
    } catch (error) {
      problems.push(`${what}: ${(error as Error).message}`)
      return undefined
    }
  }
}

export type FleetChecks = Pick<
  FleetFileParts,
  'nodes' | 'projects' | 'webhooks' | 'deployed' | 'alerts' | 'retention' | 'clock'
>

/** Runs all checks before any command. Rejects with FLEET_FILE_INVALID, which lists every problem. */
export async function checkSteps(steps: readonly Step[], current: CurrentFleet, checks: FleetChecks): Promise<void> {
  const fromConfiguration = new Set(current.discovery.filter(({ isOurs }) => !isOurs).map(({ id }) => id))
  const problems = danglingNodes(steps, current)
  const namesOf = (part: 'nodes' | 'schedules') =>
    new Set(
      [...current[part], ...steps.filter((step) => step.part === part)].flatMap(({ item }) =>
        item === null ? [] : [nameOf(item)]
      )
    )
  const known = {
    nodes: namesOf('nodes'),
    schedules: namesOf('schedules'),
    channels: new Set((await checks.alerts.channelNames()).values())
  }
  const yieldTurn = yielder(checks.clock)
  for (const step of steps) {
    await yieldTurn()
    try {
      if (step.part === 'discovery' && fromConfiguration.has(step.id as SourceId)) {
        throw new Error('this source is in the configuration file. Change it there, or leave it out of this file')
      }
      if (step.part === 'alerts' && step.item !== null) checkAlert(step.item as FileAlert, known, checks)
      else if (step.item !== null) await checkItem(step, checks)
      else if (step.part === 'nodes') checks.nodes.checkRemoval(step.id as NodeId, { force: false })
    } catch (error) {
      problems.push(`${step.change.noun} ${step.change.name}: ${(error as Error).message}`)
    }
  }
  if (problems.length > 0) refuse(problems)
}

function danglingNodes(steps: readonly Step[], current: CurrentFleet): string[] {
  const going = new Set(
    steps.flatMap(({ part, item, before }) => (part === 'nodes' && item === null ? [(before as FileNode).name] : []))
  )
  if (going.size === 0) return []
  const planned = new Map(steps.flatMap((step) => (step.id === null ? [] : [[step.id, step.item] as const])))
  const added = steps.flatMap(({ id, item }) => (id === null ? [item] : []))
  const stays = [...current.projects, ...current.schedules, ...current.chains].map(({ id, item }) =>
    planned.has(id) ? planned.get(id)! : item
  )
  return [...stays, ...added].flatMap((item) => {
    if (item === null) return []
    const templates = placedIn(item)
    const node = templates.map((template) => template.node).find((name) => name !== null && going.has(name))
    const noun = 'rules' in item ? 'schedule' : 'run' in item ? 'chain' : 'project'
    return node == null ? [] : [`${noun} ${nameOf(item)} runs on the node "${node}", which would be removed`]
  })
}

function placedIn(item: object): { node: string | null }[] {
  if ('rules' in item) return (item as FileSchedule).jobs
  if ('run' in item) return [item.run as FileTemplate]
  if (!('spiderDefaults' in item)) return []
  const { defaults, spiderDefaults } = item as FileProject
  return [defaults, ...Object.values(spiderDefaults)]
}

const nameOf = (item: object): string => ('name' in item ? String(item.name) : '')

/** Notes are not errors in the file. They describe what jobs would wait for and what retention would delete. */
export function createNotes({
  deployed,
  retention
}: Pick<FleetChecks, 'deployed' | 'retention'>): (step: Step) => Promise<Step> {
  const known = new Set(deployed.names())
  return async (step) => {
    if (step.part !== 'retention' || step.item === null) return withNotes(step, known, deployed)
    const policy = policyOfFile(step.item as FileRetention)
    const preview = await retention.preview(policy)
    return { ...step, change: { ...step.change, notes: [describePreview(preview, policy)] } }
  }
}

function describePreview({ goes, freesBytes, isCut }: StoragePreview, { paused }: StoragePolicy): string {
  const counts = Map.groupBy(goes, ({ kind }) => kind)
  const parts = [...counts].map(([kind, rows]) => `${rows.reduce((sum, { count }) => sum + count, 0)} ${kind}`)
  const what = parts.length === 0 ? 'nothing' : `${isCut ? 'at least ' : ''}${parts.join(', ')}`
  const frees = parts.length === 0 ? '' : ` and frees ${formatBytes(freesBytes)}`
  return `retention ${paused ? 'is paused; otherwise it ' : ''}deletes ${what}${frees}`
}

function withNotes(step: Step, known: ReadonlySet<string>, deployed: FleetChecks['deployed']): Step {
  const { item } = step
  const templates = item === null ? [] : 'rules' in item ? item.jobs : 'run' in item ? [item.run] : []
  const notes = templates.flatMap(({ project, spiders }) => {
    if (!known.has(project)) return [`the project ${project} is not deployed here: no job can be created until it is`]
    const listed = deployed.allSpidersOf(project)
    const missing = listed.length === 0 ? [] : spiders.filter((spider) => !listed.includes(spider))
    return missing.map((spider) => `no version of ${project} here has a spider ${spider}`)
  })
  if (step.part === 'projects' && item !== null) notes.push(...notesOnPin(item as FileProject, deployed))
  return notes.length === 0 ? step : { ...step, change: { ...step.change, notes: [...new Set(notes)] } }
}

function notesOnPin({ name, pinnedVersion = null }: FileProject, deployed: FleetChecks['deployed']): string[] {
  if (pinnedVersion === null || deployed.find(name, pinnedVersion) !== null) return []
  return [`version ${pinnedVersion} of ${name} is not deployed here: jobs that name no version wait until it is`]
}

async function checkItem(step: Step, checks: FleetChecks): Promise<void> {
  const item = step.item!
  if (step.part === 'webhooks') checks.webhooks.check(item as FileWebhook)
  else if (step.part === 'discovery') checkSource(item as FileSource)
  else if (step.part === 'projects') {
    mapDefaults(item as FileProject, checkSecrets)
    await checks.projects.check(item as FileProject)
  } else if (step.part === 'nodes') {
    const { url, caCertificate, clientCertificate, clientKey, proxyUrl } = item as FileNode
    if (proxyUrl !== null) parseProxyUrl(proxyUrl)
    refuseProxyOverSsh({ url, proxyUrl })
    const keptKey = (step.before as FileNode | null)?.clientKey ?? null
    checkCertificates({
      caCertificate,
      clientCertificate,
      clientKey: clientKey === undefined && clientCertificate !== null ? keptKey : (clientKey ?? null)
    })
  } else if ('rules' in item) {
    const settings = settingsFromFile(item, asId)
    const problem = problemOfTiming(settings)
    if (problem !== null) throw new Error(problem.text)
    for (const template of settings.jobs) checkOne(template, 'schedule')
    await checkTemplates(settings, settings.zone, checks.clock)
  } else if ('run' in item) {
    const template = templateFromFile(item.run, asId)
    checkOne(template, 'chain')
    await checkTemplates({ name: item.name, jobs: [template] }, 'UTC', checks.clock)
  }
}

function checkAlert(item: FileAlert, known: Parameters<typeof missingNames>[1], { alerts }: FleetChecks): void {
  alerts.checkFigures({ ...withUsual(item), nodeId: item.node, scheduleId: item.schedule })
  const missing = missingNames(item, known)
  if (missing !== null) throw new Error(missing)
}

type Values = Pick<FileTemplate, 'settings' | 'args' | 'secretNames'> &
  Partial<Pick<FileTemplate, 'argSets' | 'matrix'>> & { env?: Record<string, string> }

function checkOne(template: Parameters<typeof checkTemplate>[0], place: 'schedule' | 'chain'): void {
  checkTemplate(template, place, ANY_NODE)
  checkSecrets(template)
}

function checkSecrets({ settings, args, env = {}, argSets = [], matrix = {}, secretNames }: Values): void {
  const valuesOf = (name: string) => [settings, args, env, ...argSets, matrix].flatMap((one) => one[name] ?? [])
  checkSecretNames(secretNames, (name) => valuesOf(name).length > 0)
  for (const name of secretNames) {
    const values = valuesOf(name)
    if (values.includes(SECRET_MASK)) throw new Error(`the secret value of "${name}" is only dots: enter the real one`)
  }
}

function withAddress(node: FileNode): FileNode {
  const proxyUrl = node.proxyUrl === null ? null : storedForm(node.proxyUrl, parseProxyUrl)
  if (node.kind === 'local') return { ...node, url: '', proxyUrl }
  if (node.kind === 'engine') {
    if (engineOfAddress(node.url) === null) {
      throw new Error(`the local node of an engine has the address engine:NAME, not ${node.url}`)
    }
    return { ...node, proxyUrl: null }
  }
  if (node.kind === 'pulling') {
    if (idOfPulling(node.url) === null) {
      throw new Error(`a node that pulls has the address pull:n- and twelve hex digits, not ${node.url}`)
    }
    return { ...node, proxyUrl: null }
  }
  if (node.kind === 'kubernetes')
    return { ...node, url: storedForm(node.url, (text) => parseClusterUrl(text).url), proxyUrl }
  const { url, username, password } = parseNodeUrl(node.url)
  const secret = node.password === undefined && password !== null ? { password } : {}
  return { ...node, url, username: node.username ?? username, ...secret, proxyUrl }
}

/** If the text is not an address, returns it unchanged. It then matches no node. */
function storedForm(text: string, parse: (text: string) => string): string {
  try {
    return parse(text)
  } catch {
    return text
  }
}
