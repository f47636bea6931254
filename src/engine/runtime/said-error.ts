import { type Message, render } from '../../shared/texts/message.ts'

/** An error with a message from the catalogue (shared/texts). `message` is its English text. */
export class SaidError extends Error {
  readonly said: Message

  constructor(said: Message, { code, cause }: { code?: string; cause?: unknown } = {}) {
    super(render(said), cause === undefined ? undefined : { cause })
    this.said = said
    if (code !== undefined) Object.assign(this, { code })
  }
}

/** An error's message, as a parameter of another message. Errors that are not SaidErrors have only their own text. */
export const saidOf = (error: unknown): Message | string =>
  error instanceof SaidError ? error.said : error instanceof Error ? error.message : String(error)
