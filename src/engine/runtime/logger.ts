/** The engine's log. Structured: an object of facts, then a sentence. Compatible with pino. Never log secrets. */
export interface Logger {
  debug(facts: object, text: string): void
  info(facts: object, text: string): void
  warn(facts: object, text: string): void
  error(facts: object, text: string): void
}

export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} }
