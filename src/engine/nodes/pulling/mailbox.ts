export type Command =
  | { kind: 'offer'; offer: Offer }
  | { kind: 'withdraw'; project: string; jobid: string }
  | { kind: 'list' }
  | { kind: 'ack'; runs: { project: string; jobid: string }[] }
  | { kind: 'cancel'; id: number; project: string; jobid: string; signal: string }
  | {
      kind: 'read'
      id: number
      file: 'log' | 'items'
      project: string
      spider: string
      jobid: string
      offset: number
      limitBytes: number
    }

export interface Offer {
  project: string
  jobid: string
  version: string
  isVersionAsked: boolean
  spider: string
  settings: Record<string, string>
  args: Record<string, string>
  env: Record<string, string>
  priority: number
  egg: { sha256: string; sizeBytes: number }
}

export type NumberedCommand = Command & { n: number }

/** The maximum length of a response, enough for several hundred offers with large arguments. */
const ANSWER_CHARACTERS_MAX = 4_000_000

/**
 * The commands of one session of a node, in order. A command remains until the node confirms its number, because a
 * response can be lost. The node skips duplicates.
 */
export class Mailbox {
  #commands: { command: NumberedCommand; characters: number }[] = []
  #last = 0

  push(command: Command): number {
    this.#last += 1
    const numbered = { ...command, n: this.#last }
    this.#commands.push({ command: numbered, characters: JSON.stringify(numbered).length })
    return this.#last
  }

  confirm(acked: number): void {
    const first = this.#commands.findIndex(({ command }) => command.n > acked)
    this.#commands = first === -1 ? [] : this.#commands.slice(first)
  }

  /** Removes commands whose results no caller waits for. The node may already have received them. */
  drop(isUnneeded: (command: NumberedCommand) => boolean): void {
    this.#commands = this.#commands.filter(({ command }) => !isUnneeded(command))
  }

  next(): NumberedCommand[] {
    let characters = 0
    const fitting = this.#commands.findIndex((one, index) => {
      characters += one.characters
      return index > 0 && characters > ANSWER_CHARACTERS_MAX
    })
    return (fitting === -1 ? this.#commands : this.#commands.slice(0, fitting)).map(({ command }) => command)
  }

  get size(): number {
    return this.#commands.length
  }

  get isEmpty(): boolean {
    return this.#commands.length === 0
  }
}
