import type { ErrorState, ProjectName } from '../../shared/contract/index.ts'
import { wholeNumber } from '../client/arguments.ts'
import { requireProject } from '../client/find.ts'
import { localTime, print, table } from '../client/output.ts'
import type { ClientCommands } from '../client/session.ts'

interface ListFlags {
  state: string
  project?: ProjectName
  spider?: string
  newIn?: string
  text?: string
  limit: number
}

export function addErrorsCommand({ add, terminal }: ClientCommands): void {
  add('errors', 'List the errors that spiders logged, grouped, most recently seen first.', (command) =>
    command
      .option('--state <state>', 'open, resolved, ignored or all', 'open')
      .option('--project <name>', 'only errors of this project')
      .option('--spider <name>', 'only errors that this spider logged')
      .option('--new-in <version>', 'only errors that this version logged first')
      .option('--text <words>', 'only errors whose title or location contains this')
      .option('--limit <number>', 'maximum number of errors', wholeNumber, 50)
  )(async ({ client, flags }, _words, { state, newIn, project, spider, text, limit }: ListFlags) => {
    const wanted = state === 'all' ? {} : { state: state as ErrorState }
    const answer = await client.errors.list({ project, spider, text, limit, ...wanted, firstVersion: newIn })
    if (answer.groups.length === 0) await requireProject(client, project)
    print(terminal, flags, answer, ({ groups }) =>
      table(
        ['id', 'state', 'count', 'jobs', 'project', 'spiders', 'new in', 'last seen', 'error', 'location'],
        groups.map((one) => [
          String(one.id),
          one.reopenedAtMs === null ? one.state : 'reopened',
          String(one.count),
          String(one.jobCount),
          one.project,
          one.spiders.join(', ') + (one.spiderCount > one.spiders.length ? ', …' : ''),
          one.firstVersion,
          localTime(one.lastSeenMs),
          one.title,
          one.culprit
        ]),
        'No errors.'
      )
    )
  })
}
