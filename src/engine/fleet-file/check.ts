import { problemOfTiming } from '../../shared/calendar/index.ts'
import { SECRET_MASK } from '../../shared/contract/index.ts'
import { checkTemplate } from '../commands/check-template.ts'
import { checkCertificates } from '../nodes/scrapyd/certificates.ts'
import { parseNodeUrl } from '../nodes/scrapyd/node-url.ts'
import { type FileNode, type FileTemplate, type FleetForm, settingsFromFile, templateFromFile } from './form.ts'
import type { CurrentFleet, Step } from './plan.ts'
import { refuse } from './yaml.ts'

/** Nodes are named in the checks of templates before there are any ids of them. */
const ANY_NODE = { get: () => ({}) as never }

/**
 * Addresses as they are kept, and templates with nodes by their names, so that what is the same is written the same. Throws
 * FLEET_FILE_INVALID where a node is named that neither the file nor the fleet has, or two have one address.
 */
export function normalise(form: FleetForm, current: CurrentFleet): FleetForm {
  const problems: string[] = []
  const nodes = form.nodes?.map((node) => attempt(`node ${node.name}`, () => withAddress(node)) ?? node)
  const seen = new Map<string, FileNode>()
  for (const node of nodes ?? []) {
    // The local node's address is empty.
    const other = seen.get(node.url)
    seen.set(node.url, node)
    if (other === undefined) continue
    const what = node.kind === 'local' ? 'are both the local node' : `have the same address ${node.url}`
    problems.push(`the nodes ${other.name} and ${node.name} ${what}`)
  }
  if (nodes?.some(({ kind }) => kind === 'local') && !current.nodes.some(({ item }) => item.kind === 'local')) {
    problems.push('it has a local node, and this service runs without one: take it out of the file')
  }
  const known = [...current.nodes.map(({ item }) => item), ...(nodes ?? [])]
  const names = new Set(known.map(({ name }) => name))
  const nameAt = new Map(known.map(({ url, name }) => [url, name]))
  const named = (template: FileTemplate, what: string): FileTemplate => {
    if (template.node === null) return template
    const { node } = template
    const found = names.has(node) ? node : nameAt.get(addressOf(node))
    if (found === undefined)
      problems.push(`${what} runs on the node "${node}", which is neither in the file nor in the fleet`)
    return { ...template, node: found ?? node }
  }
  const schedules = form.schedules?.map((schedule) => ({
    ...schedule,
    jobs: schedule.jobs.map((template) => named(template, `schedule ${schedule.name}`))
  }))
  const chains = form.chains?.map((chain) => ({ ...chain, run: named(chain.run, `chain ${chain.name}`) }))
  if (problems.length > 0) refuse(problems)
  return { ...form, ...(nodes && { nodes }), ...(schedules && { schedules }), ...(chains && { chains }) }

  function attempt<T>(what: string, work: () => T): T | undefined {
    try {
      return work()
    } catch (error) {
      problems.push(`${what}: ${(error as Error).message}`)
      return undefined
    }
  }
}

/** What the commands would refuse, before the first of them is given: throws FLEET_FILE_INVALID with all of it. */
export function checkSteps(steps: readonly Step[]): void {
  const problems = steps.flatMap((step) => {
    if (step.item === null) return []
    try {
      checkItem(step)
      return []
    } catch (error) {
      return [`${step.change.noun} ${step.change.name}: ${(error as Error).message}`]
    }
  })
  if (problems.length > 0) refuse(problems)
}

function checkItem(step: Step): void {
  const item = step.item!
  if (step.part === 'nodes') {
    const { caCertificate, clientCertificate, clientKey } = item as FileNode
    const keptKey = (step.before as FileNode | null)?.clientKey ?? null
    checkCertificates({
      caCertificate,
      clientCertificate,
      clientKey: clientKey === undefined && clientCertificate !== null ? keptKey : (clientKey ?? null)
    })
  } else if ('jobs' in item) {
    const settings = settingsFromFile(item, (name) => name)
    const problem = problemOfTiming(settings)
    if (problem !== null) throw new Error(problem)
    for (const template of settings.jobs) checkOne(template, 'schedule')
  } else if ('run' in item)
    checkOne(
      templateFromFile(item.run, (name) => name),
      'chain'
    )
}

function checkOne(template: Parameters<typeof checkTemplate>[0], place: 'schedule' | 'chain'): void {
  checkTemplate(template, place, ANY_NODE)
  const { settings, args, argSets, matrix, secretNames } = template
  for (const name of secretNames) {
    const values = [settings, args, ...argSets, matrix].flatMap((one) => one[name] ?? [])
    if (values.length === 0) throw new Error(`"${name}" is to be secret, but no setting or argument has this name`)
    if (values.includes(SECRET_MASK)) throw new Error(`the secret value of "${name}" is only dots: write the true one`)
  }
}

function withAddress(node: FileNode): FileNode {
  if (node.kind === 'local') return { ...node, url: '' }
  const { url, username, password } = parseNodeUrl(node.url)
  const secret = node.password === undefined && password !== null ? { password } : {}
  return { ...node, url, username: node.username ?? username, ...secret }
}

/** As addresses are kept; a text that is none is nobody's. */
function addressOf(text: string): string {
  try {
    return parseNodeUrl(text).url
  } catch {
    return text
  }
}
