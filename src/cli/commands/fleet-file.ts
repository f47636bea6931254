import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ImportSource } from '../../engine/api/import/import-schedules.ts'
import type { FleetFileChange, ProjectName } from '../../shared/contract/index.ts'
import { isScrapdeckError } from '../../shared/errors.ts'
import { withConsent } from '../client/arguments.ts'
import { toCommandError } from '../client/connect.ts'
import { CommandEnd, EXIT_CODES } from '../client/exit-codes.ts'
import { plural, printLine } from '../client/output.ts'
import type { Terminal } from '../client/terminal.ts'
import type { ClientCommands, Session } from '../client/session.ts'

interface ApplyFlags {
  prune?: boolean
  yes?: boolean
  check?: boolean
}

interface ImportFlags {
  zone?: string
  project?: ProjectName
  anyNode?: boolean
  system?: boolean
  output?: string
  yes?: boolean
}

const IMPORT_SOURCES: readonly ImportSource[] = ['scrapydweb', 'gerapy', 'crontab']
const NOTHING_DONE = 'No changes made. Add --yes to apply.'

export function addFleetFileCommands({ add, terminal }: ClientCommands): void {
  add(
    'export',
    'Export nodes, sources, projects, limits, schedules, chains, webhooks and retention as one YAML file, without secrets.',
    (command) => command.option('-o, --output <file>', 'write it into this file')
  )(async ({ client, print }, _words, { output }: { output?: string }) => {
    const answer = await client.fleetFile.export()
    if (output === undefined) print(answer, ({ yaml }) => yaml.trimEnd())
    else {
      write(terminal, output, answer.yaml)
      print({ file: output }, () => '')
    }
  })

  add(
    'apply <file>',
    'Show what a fleet file (- for standard input) would change; --yes applies it. A value of ${NAME} is replaced by that environment variable.',
    (command) =>
      withConsent(command.option('--prune', 'remove what the file does not list, in the sections that it has')).option(
        '--check',
        'exit with 1 if there is anything to change'
      )
  )(async (session, [file = ''], { prune = false, yes, check }: ApplyFlags) => {
    const yaml = await withVariables(read(terminal, file), terminal.environment)
    const changes = await applyOrPlan(session, { yaml, prune }, yes === true)
    session.print({ changes, applied: yes === true }, () => describeChanges(changes, yes === true))
    if (check === true && yes !== true && changes.length > 0) throw new CommandEnd(EXIT_CODES.failed)
  })

  add(
    'import-schedules <source> [path]',
    `Import schedules from ${IMPORT_SOURCES.join(', ')}: the database, its folder, or a crontab (default: standard input). Shows the result; --yes imports it.`,
    (command) =>
      withConsent(command)
        .option('--zone <name>', "time zone for schedules without one (default: this machine's; Gerapy has its own)")
        .option('--project <name>', 'project of "scrapy crawl" in crontabs')
        .option('--any-node', 'do not import nodes: the queue chooses')
        .option('--system', 'a system crontab: a user name comes before the command')
        .option('-o, --output <file>', 'only write them as a fleet file, to be checked and applied later')
  )(async (session, [source = '', path], flags: ImportFlags) => {
    const from = IMPORT_SOURCES.find((one) => one === source)
    if (from === undefined) {
      throw new CommandEnd(
        EXIT_CODES.usage,
        `There is no import from "${source}", only from ${IMPORT_SOURCES.join(', ')}.`
      )
    }
    if (path === undefined && from !== 'crontab') {
      throw new CommandEnd(EXIT_CODES.usage, `Specify the database of ${from}, or the folder that contains it.`)
    }
    await runImport(session, from, path, flags)
  })
}

async function runImport(
  session: Session,
  from: ImportSource,
  path: string | undefined,
  flags: ImportFlags
): Promise<void> {
  const { terminal } = session
  // Loaded only when needed, because the code that reads databases and files loads slowly.
  const { importSchedules } = await import('../../engine/api/import/import-schedules.ts')
  const isInput = path === undefined || path === '-'
  const options = {
    from,
    path: isInput ? 'standard input' : resolve(terminal.directory, path),
    ...(isInput ? { text: read(terminal, '-') } : {}),
    zone: flags.zone ?? null,
    project: flags.project ?? null,
    hasUsers: flags.system === true
  }
  const { yaml, imported } = importSchedules({ ...options, anyNode: flags.anyNode === true })
  const taken = imported.filter(({ schedule }) => schedule !== null).length
  const report = [
    ...imported.map(({ origin, schedule, notes }) => {
      const what = schedule === null ? 'NOT IMPORTED' : `"${schedule.name}"`
      return [`${origin}: ${what}`, ...notes.map((note) => `    ${note}`)].join('\n')
    }),
    `${taken} of ${imported.length} can be imported.`
  ].join('\n')
  if (session.flags.json !== true) printLine(terminal, report)
  if (flags.output !== undefined) {
    write(terminal, flags.output, yaml)
    session.print({ imported, file: flags.output }, () => '')
    return
  }
  if (taken === 0) {
    session.print({ imported, changes: [], applied: false }, () => '')
    if (imported.length === 0) return
    throw new CommandEnd(EXIT_CODES.failed, 'Nothing can be imported; each entry says why.')
  }
  const isWanted = flags.yes === true
  const show = (changes: FleetFileChange[], applied: boolean) =>
    session.print({ imported, changes, applied }, () => describeChanges(changes, applied))
  const changes = await applyOrPlan(session, { yaml, prune: false }, isWanted).catch(async (caught: unknown) => {
    const error = toCommandError(caught)
    const isNode =
      isScrapdeckError(error, 'FLEET_FILE_INVALID') && /neither in the file nor in the fleet/.test(error.message)
    if (!isNode) throw error
    // The plan shows the times even if nodes are missing, because the times matter most and do not depend on nodes.
    const onAnyNode = { yaml: importSchedules({ ...options, anyNode: true }).yaml, prune: false }
    if (!isWanted) show(await applyOrPlan(session, onAnyNode, false), false)
    const what = 'Add the nodes first, or let the queue choose with --any-node.'
    throw new CommandEnd(EXIT_CODES.usage, `${error.message}. ${what}`, { cause: error })
  })
  show(changes, isWanted)
}

async function applyOrPlan(
  { client }: Session,
  file: { yaml: string; prune: boolean },
  doIt: boolean
): Promise<FleetFileChange[]> {
  const { changes } = await (doIt ? client.fleetFile.apply(file) : client.fleetFile.plan(file))
  return changes
}

const SIGNS = { add: '+', change: '~', remove: '-' } as const

function describeChanges(changes: FleetFileChange[], done: boolean): string {
  if (changes.length === 0) return 'No changes: everything matches the file.'
  const lines = changes.flatMap(({ act, noun, name, fields, notes = [] }) => [
    `${SIGNS[act]} ${noun} ${name}`,
    ...fields.flatMap(({ name: field, from, to }) => describeField(field, from, to)),
    ...notes.map((note) => `    ! ${note}`)
  ])
  const count = plural(changes.length, 'change')
  return [...lines, done ? `${count} made.` : `${count} to make. ${NOTHING_DONE}`].join('\n')
}

function describeField(name: string, from: string | null, to: string | null): string[] {
  const isShort = !`${from ?? ''}${to ?? ''}`.includes('\n')
  if (isShort) return [`    ${name}: ${from === null ? '' : `${from} -> `}${to ?? 'none'}`]
  const marked = (sign: string, text: string | null) =>
    text === null ? [] : text.split('\n').map((line) => `      ${sign} ${line}`)
  return [`    ${name}:`, ...marked('-', from), ...marked('+', to)]
}

/**
 * Replaces `password: ${NODE_PASSWORD}` with the environment variable, so that a repository contains no secrets.
 * Replaces only whole values and moves no lines, because messages contain line numbers.
 */
async function withVariables(yaml: string, environment: Record<string, string | undefined>): Promise<string> {
  const { isScalar, parseDocument, visit } = await import('yaml')
  const replaced: { from: number; until: number; text: string }[] = []
  const document = parseDocument(yaml, { prettyErrors: false, logLevel: 'silent' })
  // The engine rejects invalid YAML and names the lines.
  if (document.errors.length > 0) return yaml
  visit(document, {
    Scalar(_key, node) {
      const name =
        isScalar(node) && typeof node.value === 'string' ? /^\$\{([A-Za-z_]\w*)\}$/.exec(node.value)?.[1] : undefined
      if (name === undefined || node.range == null) return
      const value = environment[name]
      if (value === undefined) {
        throw new CommandEnd(EXIT_CODES.usage, `The file uses the environment variable ${name}, which is not set.`)
      }
      replaced.push({ from: node.range[0], until: node.range[1], text: JSON.stringify(value) })
    }
  })
  return replaced.reduceRight(
    (text, { from, until, text: value }) => text.slice(0, from) + value + text.slice(until),
    yaml
  )
}

function read(terminal: Terminal, file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : resolve(terminal.directory, file), 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const what = `${file} cannot be read: ${code === 'ENOENT' ? 'there is no such file' : message}.`
    throw new CommandEnd(EXIT_CODES.usage, what, { cause: error })
  }
}

function write(terminal: Terminal, file: string, text: string): void {
  try {
    writeFileSync(resolve(terminal.directory, file), text)
  } catch (error) {
    throw new CommandEnd(EXIT_CODES.failed, `${file} cannot be written (${(error as Error).message}).`, {
      cause: error
    })
  }
  terminal.error(`Written to ${file}.\n`)
}
