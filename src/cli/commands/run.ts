import type { ProjectName, VersionName } from '../../shared/contract/index.ts'
import { collect, collectPair } from '../client/arguments.ts'
import { EXIT_CODES, CommandEnd } from '../client/exit-codes.ts'
import { plural } from '../client/output.ts'
import type { ClientCommands } from '../client/session.ts'
import { duration, moment, requireFuture } from '../client/times.ts'
import { findNodeId, tellUnmetTags, withJobs } from '../client/find.ts'
import { waitForJobs } from '../client/wait-for-jobs.ts'
import { followLog } from './logs.ts'

interface RunFlags {
  argument?: Record<string, string>
  setting?: Record<string, string>
  secret?: string[]
  version?: VersionName
  node?: string
  anyNode?: boolean
  withoutDefault?: string[]
  tag?: string[]
  priority?: string
  at?: number
  after?: string[]
  /** false for `--no-overlap`. */
  overlap?: boolean
  wait?: boolean
  timeout?: number
  follow?: boolean
}

export function addRunCommand({ add }: ClientCommands): void {
  add('run <project> <spider...>', 'Run one or more spiders.', (command) =>
    command
      .option('-a, --argument <name=value>', 'an argument of the spider (can be repeated)', collectPair)
      .option('-s, --setting <NAME=value>', 'a setting of Scrapy (can be repeated)', collectPair)
      .option('--secret <name>', 'hide the value of this argument or setting (can be repeated)', collect)
      .option(
        '--version <version>',
        'the version of the project (default: the pinned one, else the latest when it starts)'
      )
      .option('--node <name>', 'run it on this node')
      .option('--any-node', 'on any node, whatever the defaults of the project say')
      .option('--tag <term>', 'only on nodes with this tag (can be repeated)', collect)
      .option('--without-default <name>', 'leave out this default of the project; *: all (can be repeated)', collect)
      .option('--priority <number>', 'higher runs first (default 0)')
      .option('--at <time>', 'not before this time', moment)
      .option('--after <id>', 'wait until this job has succeeded (can be repeated)', collect)
      .option('--no-overlap', 'do not start while the same spider with the same arguments is running')
      .option('--wait', 'wait until the jobs end; the exit code says whether all succeeded')
      .option('--timeout <duration>', 'wait at most this long, such as 90s, 15m or 2h; the jobs continue', duration)
      .option('-f, --follow', 'show the log as it grows, and wait for the end (one spider)')
  )(async (session, [project = '', ...spiders], options: RunFlags) => {
    const { client, terminal, flags, print } = session
    if (options.follow && spiders.length > 1)
      throw new CommandEnd(EXIT_CODES.usage, '--follow shows one log: name one spider.')
    const priority = options.priority === undefined ? undefined : Number(options.priority)
    if (Number.isNaN(priority)) throw new CommandEnd(EXIT_CODES.usage, '--priority takes a number.')
    if (options.timeout !== undefined && !options.wait)
      throw new CommandEnd(EXIT_CODES.usage, '--timeout limits --wait: give both.')
    requireFuture(options.at, terminal.nowMs(), 'Leave it out to run now.')
    if (options.anyNode && (options.node !== undefined || options.tag !== undefined))
      throw new CommandEnd(EXIT_CODES.usage, '--any-node is the opposite of --node and --tag: give one of them.')
    const named = options.node === undefined ? undefined : await findNodeId(client, options.node)
    const nodeId = options.anyNode ? null : named
    const order = {
      project: project as ProjectName,
      spiders,
      version: options.version,
      args: options.argument,
      settings: options.setting,
      secretNames: options.secret,
      withoutDefaults: options.withoutDefault,
      nodeId,
      tags: options.tag,
      priority,
      notBeforeMs: options.at,
      noOverlap: options.overlap === false ? true : undefined
    }
    const answer = await withJobs(client, options.after ?? [], (ids) =>
      client.jobs.run({
        ...order,
        after: ids.length === 0 ? undefined : ids.map((jobId) => ({ jobId, on: 'succeeded' as const }))
      })
    )
    const ids = answer.jobs.map(({ id }) => id)
    await tellUnmetTags(session, options.tag ?? [])
    const isWaiting = options.wait || options.follow
    // With --json, a command that waits prints only the outcomes.
    if (!(isWaiting && flags.json)) {
      print(answer, ({ jobs }) =>
        jobs.map((job) => `${job.id}  ${job.status}${job.waiting === null ? '' : `: ${job.waiting.text}`}`).join('\n')
      )
    }
    if (options.follow) await followLog(session, ids[0]!, {})
    if (isWaiting) {
      if (!options.follow && !flags.json)
        terminal.error(`Waiting for ${plural(ids.length, 'job')}. The jobs continue if you interrupt this command.\n`)
      await waitForJobs(session, ids, options.timeout)
    }
  })
}
