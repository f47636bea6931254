import type { DiscoverySource, SourceSettings, SourceState } from '../../../../shared/contract/index.ts'

/** What stands in the dialog; the fields of the kinds not chosen keep what was typed. */
export interface SourceForm {
  readonly id: string
  readonly kind: DiscoverySource['kind']
  readonly path: string
  readonly nodes: string
  readonly hostname: string
  readonly record: 'A' | 'AAAA' | 'SRV'
  readonly scheme: 'http' | 'https'
  readonly port: number | null
  readonly basePath: string
  readonly refreshSeconds: number | null
  readonly slots: number | null
  readonly queueAhead: number | null
  readonly tags: readonly string[]
  readonly group: string
  readonly username: string
  /** Empty: as it was. */
  readonly password: string
}

export const NEW_SOURCE: SourceForm = {
  id: '',
  kind: 'dns',
  path: '',
  nodes: '',
  hostname: '',
  record: 'A',
  scheme: 'http',
  port: 6800,
  basePath: '/',
  refreshSeconds: 30,
  slots: null,
  queueAhead: null,
  tags: [],
  group: '',
  username: '',
  password: ''
}

export function formOfSource({ id, source, refreshSeconds, node, username }: SourceState): SourceForm {
  return {
    ...NEW_SOURCE,
    ...source,
    id,
    refreshSeconds,
    slots: node.slots ?? null,
    queueAhead: node.queueAhead ?? null,
    tags: node.tags ?? [],
    group: node.group ?? '',
    username: username ?? ''
  }
}

export type SourceInput = SourceSettings & { password?: string | null }

/** What is saved, or what is missing, in words. */
export function readSource(form: SourceForm): { input: SourceInput } | { missing: string } {
  if (!/^[a-z0-9][a-z0-9-]{0,39}$/.test(form.id))
    return { missing: 'Name the source: small letters, digits and dashes, up to 40' }
  const source = readKind(form)
  if (typeof source === 'string') return { missing: source }
  if (form.refreshSeconds === null || form.refreshSeconds < 5 || form.refreshSeconds > 86_400)
    return { missing: 'It is asked again every 5 to 86,400 seconds' }
  if (form.username.includes(':')) return { missing: 'A user name for Scrapyd cannot contain a colon' }
  const input: SourceInput = {
    id: form.id,
    source,
    refreshSeconds: form.refreshSeconds,
    node: {
      ...(form.slots === null ? {} : { slots: form.slots }),
      ...(form.queueAhead === null ? {} : { queueAhead: form.queueAhead }),
      ...(form.tags.length === 0 ? {} : { tags: [...form.tags] }),
      ...(form.group.trim() === '' ? {} : { group: form.group.trim() })
    },
    username: form.username === '' ? null : form.username
  }
  if (form.username === '') input.password = null
  else if (form.password !== '') input.password = form.password
  return { input }
}

function readKind(form: SourceForm): DiscoverySource | string {
  if (form.kind === 'file') {
    const path = form.path.trim()
    if (path === '') return 'Name the file'
    return /^(\/|[A-Za-z]:[\\/]|\\\\)/.test(path) ? { kind: 'file', path } : 'Give the whole path, from / or a drive'
  }
  if (form.kind === 'list') {
    return form.nodes.trim() === '' ? 'Write one address a line' : { kind: 'list', nodes: form.nodes }
  }
  const hostname = form.hostname.trim()
  if (!/^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?\.?$/i.test(hostname))
    return 'Name the host, such as scrapyd.crawl.svc.cluster.local'
  if (form.port === null) return 'Name the port'
  const { record, scheme, port } = form
  return { kind: 'dns', hostname, record, scheme, port, basePath: form.basePath.trim() || '/' }
}

/** `A records of scrapyd.crawl.svc`, `the file /etc/nodes.txt`. */
export function sourceWords(source: DiscoverySource): string {
  if (source.kind === 'file') return `the file ${source.path}`
  if (source.kind === 'dns') return `${source.record} records of ${source.hostname}`
  return 'a list of addresses'
}
