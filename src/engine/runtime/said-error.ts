import { type Message, render } from '../../shared/texts/message.ts'

/** An error with a message of the catalogue (shared/texts). `message` is its English text. */
export class SaidError extends Error {
  readonly said: Message

  constructor(said: Message, { code, cause }: { code?: string; cause?: unknown } = {}) {
    super(render(said), cause === undefined ? undefined : { cause })
    this.said = said
    if (code !== undefined) Object.assign(this, { code })
  }
}

/** What an error says, as a parameter of a message. Other errors have only their own text. */
export const saidOf = (error: unknown): Message | string =>
  error instanceof SaidError ? error.said : error instanceof Error ? error.message : String(error)
