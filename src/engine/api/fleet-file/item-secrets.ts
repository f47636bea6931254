import { SECRET_MASK } from '../../../shared/contract/index.ts'
import { mapDefaults, maskDefaults } from '../../../shared/job-defaults.ts'
import { maskSecrets } from '../../../shared/secret-values.ts'
import { fillMasked } from '../commands/template-secrets.ts'
import { withoutCredentials } from '../../nodes/scrapyd/proxy.ts'
import type { ItemOf, Part } from './form.ts'

const same = <T>(item: T): T => item
const dots = <T extends string | null | undefined>(secret: T) => (typeof secret === 'string' ? SECRET_MASK : secret)

const MASKED: { [P in Part]: (item: ItemOf<P>) => ItemOf<P> } = {
  nodes: (node) => ({
    ...node,
    password: dots(node.password),
    clientKey: dots(node.clientKey),
    proxyUrl: node.proxyUrl === null ? null : withoutCredentials(node.proxyUrl)
  }),
  discovery: (source) => ({ ...source, password: dots(source.password) }),
  projects: maskDefaults,
  limits: same,
  schedules: (schedule) => ({ ...schedule, jobs: schedule.jobs.map((template) => maskSecrets(template)) }),
  chains: (chain) => ({ ...chain, run: maskSecrets(chain.run) }),
  webhooks: same,
  alerts: same,
  retention: same
}

const FILLED: { [P in Part]: (item: ItemOf<P>, before: ItemOf<P> | undefined) => ItemOf<P> } = {
  nodes: (node, before) => {
    const proxyUrl = before?.proxyUrl ?? null
    const isAsShown = proxyUrl !== null && node.proxyUrl === withoutCredentials(proxyUrl)
    return isAsShown ? { ...node, proxyUrl } : node
  },
  discovery: same,
  projects: (project, before) => {
    const knownOf = (spider: string | null) => (spider === null ? before?.defaults : before?.spiderDefaults[spider])
    return { ...project, ...mapDefaults(project, (one, spider) => fillMasked(one, knownOf(spider))) }
  },
  limits: same,
  schedules: (schedule, before) => ({
    ...schedule,
    jobs: schedule.jobs.map((template, index) => fillMasked(template, before?.jobs[index]))
  }),
  chains: (chain, before) => ({ ...chain, run: fillMasked(chain.run, before?.run) }),
  webhooks: same,
  alerts: same,
  retention: same
}

export function maskItem<P extends Part>(part: P, item: ItemOf<P>): ItemOf<P> {
  return MASKED[part](item)
}

/** Secrets masked in the file keep their stored values. */
export function fillItem<P extends Part>(part: P, item: ItemOf<P>, before: ItemOf<P> | undefined): ItemOf<P> {
  return FILLED[part](item, before)
}
