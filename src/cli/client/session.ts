import type { Command } from 'commander'
import type { Client, ConnectionFlags } from './connect.ts'
import type { Terminal } from './terminal.ts'

/** A command that talks to an engine: whom it asks, where it prints, how it was called. */
export interface Session {
  client: Client
  terminal: Terminal
  flags: ConnectionFlags
}

type Act<Options> = (session: Session, words: string[], options: Options) => Promise<void>

export interface ClientCommands {
  /** `usage` as commander has it (`cancel <id...>`); the second call says what it does. */
  add(
    usage: string,
    description: string,
    configure?: (command: Command) => Command
  ): <Options>(act: Act<Options & ConnectionFlags>) => Command
  /** Adds a command of which others are parts; they are added with what it returns. */
  group(name: string, description: string): ClientCommands['add']
  terminal: Terminal
}
