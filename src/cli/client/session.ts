import type { Command } from 'commander'
import type { Client, ConnectionFlags } from './connect.ts'
import type { Terminal } from './terminal.ts'

export interface Session {
  client: Client
  terminal: Terminal
  flags: ConnectionFlags
  /** Prints the response as JSON, or as the text that `describe` returns. */
  print<Answer>(answer: Answer, describe: (answer: Answer) => string): void
}

type Act<Options> = (session: Session, words: string[], options: Options) => Promise<void>

export interface ClientCommands {
  /** `usage` is in commander's syntax (`cancel <id...>`). The returned function sets the action. */
  add(
    usage: string,
    description: string,
    configure?: (command: Command) => Command,
    /** `isDefault`: the group's name alone runs this command. */
    options?: { isDefault?: boolean }
  ): <Options>(act: Act<Options & ConnectionFlags>) => Command
  /** Adds a command with subcommands. The returned function adds a subcommand. */
  group(name: string, description: string): ClientCommands['add']
  terminal: Terminal
}
