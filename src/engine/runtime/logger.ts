/** The engine's own log. Structured: an object of facts, then a sentence. pino fits; secrets never go in. */
export interface Logger {
  debug(facts: object, text: string): void
  info(facts: object, text: string): void
  warn(facts: object, text: string): void
  error(facts: object, text: string): void
}

export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} }
