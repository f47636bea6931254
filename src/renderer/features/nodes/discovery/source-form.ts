import { z } from 'zod'
import {
  type DiscoverySource,
  NewSource,
  type SourceSettings,
  type SourceState
} from '../../../../shared/contract/index.ts'
import { absolutePath, numberText, textOrNull } from '../../../ui/fields/texts.ts'
import { texts } from '../../../../shared/texts/ui/nodes.ts'

const { node, refreshSeconds } = NewSource.shape
const ofNode = node.unwrap().shape
type DnsSource = Extract<DiscoverySource, { kind: 'dns' }>

/** Has the fields of all kinds: switching the kind keeps the input. */
export interface SourceTexts {
  id: string
  source: { kind: DiscoverySource['kind']; path: string; nodes: string; port: number | string } & Omit<
    DnsSource,
    'kind' | 'port'
  >
  refreshSeconds: number | string
  node: { slots: number | string; queueAhead: number | string; tags: string[]; group: string }
  username: string
  /** Empty: unchanged. */
  password: string
}

const NEW_SOURCE: SourceTexts = {
  id: '',
  source: {
    kind: 'dns',
    path: '',
    nodes: '',
    hostname: '',
    record: 'A',
    scheme: 'http',
    port: 6800,
    basePath: '/'
  },
  refreshSeconds: 30,
  node: { slots: '', queueAhead: '', tags: [], group: '' },
  username: '',
  password: ''
}

export function startSource(state: SourceState | null): SourceTexts {
  if (state === null) return NEW_SOURCE
  const { id, source, refreshSeconds, username } = state
  const { slots, queueAhead, tags, group } = state.node
  return {
    id,
    source: { ...NEW_SOURCE.source, ...source },
    refreshSeconds,
    node: { slots: slots ?? '', queueAhead: queueAhead ?? '', tags: tags ?? [], group: group ?? '' },
    username: username ?? '',
    password: ''
  }
}

export type SourceInput = SourceSettings & { password?: string | null }

const port = z.int().min(1).max(65_535)

export const SourceForm = z
  .object({
    id: z
      .string()
      .regex(/^[a-z0-9][a-z0-9-]{0,39}$/, texts.sourceNameWrong)
      .brand<'SourceId'>(),
    source: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('file'), path: absolutePath }),
      z.object({
        kind: z.literal('list'),
        nodes: z.string().refine((text) => text.trim() !== '', texts.addressesMissing)
      }),
      z.object({
        kind: z.literal('dns'),
        hostname: z
          .string()
          .trim()
          .regex(/^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?\.?$/i, texts.hostNameWrong),
        record: z.enum(['A', 'AAAA', 'SRV']),
        scheme: z.enum(['http', 'https']),
        port: numberText(port),
        basePath: z.string().transform((path) => path.trim() || '/')
      })
    ]),
    refreshSeconds: numberText(refreshSeconds.unwrap()),
    node: z
      .object({
        slots: numberText(ofNode.slots, null),
        queueAhead: numberText(ofNode.queueAhead.unwrap().nullable(), null),
        tags: ofNode.tags.unwrap(),
        group: textOrNull
      })
      .transform(({ slots, queueAhead, tags, group }): SourceSettings['node'] => ({
        ...(slots !== null && { slots }),
        ...(queueAhead !== null && { queueAhead }),
        ...(tags.length > 0 && { tags }),
        ...(group !== null && { group })
      })),
    username: z.string().refine((name) => !name.includes(':'), texts.userNameHasColon),
    password: z.string()
  })
  .transform(
    ({ username, password, ...settings }): SourceInput => ({
      ...settings,
      username: username || null,
      ...(username === '' ? { password: null } : password !== '' && { password })
    })
  ) as never as z.ZodType<SourceInput, SourceTexts>

/** `A records of scrapyd.crawl.svc`, `the file /etc/nodes.txt`. */
export function sourceWords(source: DiscoverySource): string {
  if (source.kind === 'file') return texts.sourceFile(source.path)
  if (source.kind === 'dns') return texts.sourceDns(source.record, source.hostname)
  return texts.sourceList
}
