import { resolve as resolvePath } from 'node:path'
import type { z } from 'zod'
import { NewSource, type SourceSettings } from '../shared/contract/index.ts'

export type ConfiguredSource = SourceSettings & { password?: string | null }

export const NODES_SOURCE = 'configuration'

const KEYS = {
  file: ['id', 'refresh', 'slots', 'tags', 'group', 'queue_ahead', 'username', 'password'],
  dns: [
    ...['id', 'refresh', 'slots', 'tags', 'group', 'queue_ahead', 'username', 'password'],
    ...['record', 'scheme', 'port', 'base_path']
  ]
}

/** Parses `nodes`: one address per line. The engine validates the addresses and does not start if one is invalid. */
export function nodesSource(text: string): ConfiguredSource {
  return NewSource.parse({ id: NODES_SOURCE, source: { kind: 'list', nodes: text } })
}

/** Parses `discover`: one source per line, `file PATH …` or `dns NAME …`, then options such as `refresh=30`. */
export function readSources(
  text: string,
  workingDirectory: string
): { sources: ConfiguredSource[]; problems: string[] } {
  const sources: ConfiguredSource[] = []
  const problems: string[] = []
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line === '') continue
    const read = readSource(line, workingDirectory)
    // Print only the first two words, because the rest of the line can contain a password.
    const [kind, what] = line.split(/\s+/)
    if ('problem' in read) problems.push(`discover: ${kind} ${what ?? ''}: ${read.problem}`)
    else if (sources.some(({ id }) => id === read.source.id)) {
      problems.push(
        `discover: ${kind} ${what}: the id ${read.source.id} stands twice. Give one of them another with id=`
      )
    } else sources.push(read.source)
  }
  return { sources, problems }
}

function readSource(line: string, workingDirectory: string): { source: ConfiguredSource } | { problem: string } {
  const [kind, what, ...words] = line.split(/\s+/)
  if ((kind !== 'file' && kind !== 'dns') || what === undefined || what.includes('=')) {
    return { problem: 'a line is "file PATH" or "dns NAME", and words such as refresh=30 behind it' }
  }
  const values = new Map<string, string>()
  for (const word of words) {
    const [, key, value] = /^([a-z_]+)=(.+)$/.exec(word) ?? []
    if (key === undefined || !KEYS[kind].includes(key)) {
      return { problem: `after ${kind} stand ${KEYS[kind].map((each) => `${each}=`).join(', ')}` }
    }
    values.set(key, value!)
  }
  const number = (key: string) => (values.has(key) ? Number(values.get(key)) : undefined)
  const parsed = NewSource.safeParse({
    id: values.get('id') ?? idFor(kind, what),
    source:
      kind === 'file'
        ? { kind, path: resolvePath(workingDirectory, what) }
        : {
            kind,
            hostname: what,
            record: (values.get('record') ?? 'A').toUpperCase(),
            scheme: values.get('scheme'),
            port: number('port'),
            basePath: values.get('base_path')
          },
    refreshSeconds: number('refresh'),
    node: {
      slots: number('slots'),
      tags: values
        .get('tags')
        ?.split(',')
        .filter((tag) => tag !== ''),
      group: values.get('group'),
      queueAhead: number('queue_ahead')
    },
    username: values.get('username')
  })
  if (!parsed.success) return { problem: wordsOf(parsed.error) }
  return { source: { ...parsed.data, password: values.get('password') ?? null } }
}

function idFor(kind: string, what: string): string {
  const letters = what.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  return `${kind}-${letters.replace(/^-|-$/g, '')}`.slice(0, 40).replace(/-$/, '')
}

function wordsOf(error: z.ZodError): string {
  const { path, message } = error.issues[0]!
  return `${path.at(-1) === 'refreshSeconds' ? 'refresh' : String(path.at(-1) ?? '')}: ${message}`
}
