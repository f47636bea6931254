import { maskTokens } from '../../../shared/secret-values.ts'

const NOUNS = Object.entries({
  project: 'project',
  version: 'version',
  spider: 'spider',
  spiders: 'spider',
  nodeId: 'node',
  nodeIds: 'node',
  jobId: 'job',
  jobIds: 'job',
  job: 'job',
  scheduleId: 'schedule',
  userId: 'user',
  webhookId: 'webhook',
  name: 'name',
  id: 'id',
  ids: 'id',
  to: 'engine',
  path: 'path'
})
/** What the inputs `id` and `name` identify, per operation group or per single operation. */
const NOUN_OF_GROUP: Readonly<Record<string, string>> = {
  jobs: 'job',
  nodes: 'node',
  discovery: 'source',
  schedules: 'schedule',
  chains: 'chain',
  webhooks: 'webhook',
  engines: 'engine',
  environments: 'environment',
  errors: 'error',
  users: 'user',
  groups: 'group',
  tokens: 'token',
  roles: 'role',
  crawlOrders: 'crawl',
  alerts: 'alert',
  alertRules: 'alert rule',
  alertSilences: 'silence',
  alertChannels: 'channel',
  items: 'export',
  findings: 'job',
  sessions: 'session',
  'secondFactors.removePasskey': 'passkey',
  'secondFactors.reset': 'user'
}
const OWN = new Set(['id', 'ids', 'name'])

const TARGETS_MAX = 20
const NAME_MAX = 100
const PROJECT_MAX = 200
const LOOKED_AT_MAX = 1_000

export interface Targets {
  project: string | null
  targets: { noun: string; name: string }[]
  moreTargets: number
}

/** Masks tokens, because users sometimes paste one into the wrong field. */
const readable = (text: string, lengthMax: number): string =>
  maskTokens(text.slice(0, LOOKED_AT_MAX)).slice(0, lengthMax).toWellFormed()

/** Returns what an operation is about. The input may be invalid. */
export function targetsOf(operation: string, input: unknown): Targets {
  const found: Targets = { project: null, targets: [], moreTargets: 0 }
  if (typeof input !== 'object' || input === null) return found
  const group = operation.split('.', 1)[0]!
  const add = (noun: string, value: unknown) => {
    if (typeof value !== 'string' && typeof value !== 'number') return
    if (found.targets.length === TARGETS_MAX) found.moreTargets += 1
    else found.targets.push({ noun, name: readable(String(value), NAME_MAX) })
  }
  for (const [field, known] of NOUNS) {
    if (!Object.hasOwn(input, field)) continue
    const value = (input as Record<string, unknown>)[field]
    if (field === 'project' && typeof value === 'string') found.project = readable(value, PROJECT_MAX)
    const noun = OWN.has(field) ? (NOUN_OF_GROUP[operation] ?? NOUN_OF_GROUP[group] ?? known) : known
    if (!Array.isArray(value)) add(noun, value)
    else {
      for (const one of value.slice(0, TARGETS_MAX)) add(noun, one)
      found.moreTargets += Math.max(0, value.length - TARGETS_MAX)
    }
  }
  return found
}
