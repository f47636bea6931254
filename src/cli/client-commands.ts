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
import type { Terminal } from './client/terminal.ts'
import { addCompletionCommand } from './commands/completion.ts'
import { addDeployCommand } from './commands/deploy.ts'
import { addFleetFileCommands } from './commands/fleet-file.ts'
import { addJobCommands } from './commands/jobs.ts'
import { addLogsCommand } from './commands/logs.ts'
import { addNodeCommands } from './commands/nodes.ts'
import { addRunCommand } from './commands/run.ts'
import { addScheduleCommands } from './commands/schedules.ts'

/** Resolves the address on the first request: some commands send none, and `deploy` has addresses of its own. */
function openSession(flags: ConnectionFlags, terminal: Terminal): Session {
  let client: Client | null = null
  return {
    terminal,
    flags,
    get client() {
      client ??= connect(() => findAddress(flags, terminal), terminal)
      return client
    }
  }
}

/** Adds every command that talks to a local or remote engine over /api/v1 (docs/cli.md). */
export function addClientCommands(program: Command, terminal: Terminal): void {
  const addTo =
    (parent: Command): ClientCommands['add'] =>
    (usage, description, configure = (command) => command) => {
      const command = configure(parent.command(usage).description(description))
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
  addDeployCommand(commands)
  addRunCommand(commands)
  addJobCommands(commands)
  addLogsCommand(commands)
  addNodeCommands(commands)
  addScheduleCommands(commands)
  addFleetFileCommands(commands)
  addCompletionCommand(program, terminal)
}
