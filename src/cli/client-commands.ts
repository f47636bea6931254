import type { Command } from 'commander'
import {
  addConnectionOptions,
  type Client,
  connect,
  type ConnectionFlags,
  findAddress,
  toCommandError
} from './client/connect.ts'
import type { ClientCommands, Session } from './client/session.ts'
import { printLine } from './client/output.ts'
import { safeJson, type Terminal } from './client/terminal.ts'

/** The commands in each file, in the order in which the help lists them. A command loads only its own file. */
const FILES: { names: readonly string[]; load: () => Promise<(commands: ClientCommands) => void> }[] = [
  { names: ['deploy'], load: async () => (await import('./commands/deploy.ts')).addDeployCommand },
  { names: ['run'], load: async () => (await import('./commands/run.ts')).addRunCommand },
  { names: ['jobs', 'cancel'], load: async () => (await import('./commands/jobs.ts')).addJobCommands },
  { names: ['logs'], load: async () => (await import('./commands/logs.ts')).addLogsCommand },
  { names: ['items'], load: async () => (await import('./commands/logs.ts')).addItemsCommand },
  { names: ['search'], load: async () => (await import('./commands/logs.ts')).addSearchCommand },
  { names: ['errors'], load: async () => (await import('./commands/logs.ts')).addErrorsCommand },
  { names: ['alerts'], load: async () => (await import('./commands/alerts.ts')).addAlertCommands },
  { names: ['projects', 'versions'], load: async () => (await import('./commands/projects.ts')).addProjectCommands },
  { names: ['nodes'], load: async () => (await import('./commands/nodes.ts')).addNodeCommands },
  { names: ['schedules'], load: async () => (await import('./commands/schedules.ts')).addScheduleCommands },
  { names: ['storage'], load: async () => (await import('./commands/storage.ts')).addStorageCommands },
  { names: ['engines'], load: async () => (await import('./commands/engines.ts')).addEngineCommands },
  {
    names: ['users', 'tokens', 'sessions'],
    load: async () => (await import('./commands/access.ts')).addAccessCommands
  },
  { names: ['groups'], load: async () => (await import('./commands/groups.ts')).addGroupCommands },
  { names: ['roles'], load: async () => (await import('./commands/roles.ts')).addRoleCommands },
  { names: ['login', 'logout', 'whoami'], load: async () => (await import('./commands/login.ts')).addLoginCommands },
  { names: ['audit'], load: async () => (await import('./commands/audit.ts')).addAuditCommands },
  { names: ['link'], load: async () => (await import('./commands/login.ts')).addLinkCommand },
  {
    names: ['export', 'apply', 'import-schedules'],
    load: async () => (await import('./commands/fleet-file.ts')).addFleetFileCommands
  }
]

/**
 * Finds the address on the first request, because some commands send no requests and `deploy` has its own addresses.
 */
function openSession(flags: ConnectionFlags, terminal: Terminal): Session {
  let client: Client | null = null
  return {
    terminal,
    flags,
    get client() {
      client ??= connect(() => findAddress(flags, terminal), terminal)
      return client
    },
    print(answer, describe) {
      if (flags.json === true) terminal.out(`${safeJson(answer, 2)}\n`)
      else printLine(terminal, describe(answer))
    }
  }
}

/**
 * Adds the API commands from the file that contains `name`. For help, completion or an unknown name, adds all commands.
 */
export async function addClientCommands(program: Command, terminal: Terminal, name: string | undefined): Promise<void> {
  const addTo =
    (parent: Command): ClientCommands['add'] =>
    (usage, description, configure = (command) => command, { isDefault = false } = {}) => {
      const command = configure(parent.command(usage, { isDefault }).description(description))
      addConnectionOptions(command)
      return (act) =>
        command.action(async (...given: unknown[]) => {
          const flags = given.at(-2) as Parameters<typeof act>[2]
          const words = given
            .slice(0, -2)
            .flat()
            .filter((word) => word !== undefined) as string[]
          await act(openSession(flags, terminal), words, flags).catch((error: unknown) => {
            throw toCommandError(error)
          })
        })
    }
  const commands: ClientCommands = {
    terminal,
    add: addTo(program),
    group: (name, description) => addTo(program.command(name).description(description))
  }
  const named = FILES.filter(({ names }) => name !== undefined && names.includes(name))
  for (const { load } of named.length > 0 ? named : FILES) (await load())(commands)
  if (named.length === 0) (await import('./commands/completion.ts')).addCompletionCommand(program, terminal)
}
