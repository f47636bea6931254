/** What a command may touch of the machine: handed in, so that tests run commands in their own process. */
export interface Terminal {
  out(text: string): void
  error(text: string): void
  /** Of standard output: text of others is then shown without what would steer the terminal. */
  isTerminal: boolean
  environment: Record<string, string | undefined>
  directory: string
  homeDirectory: string
  /** Fires when the user interrupts. */
  interrupted: AbortSignal
  nowMs(): number
  sleep(ms: number): Promise<void>
  /** Port and data directory that a service started here with these flags would have. */
  localService(flags: LocalFlags): { port: number | null; dataDirectory: string }
}

export interface LocalFlags {
  data?: string | undefined
  port?: string | undefined
  config?: string | undefined
}

/** Everything but line ends, tabs and colours: node names and logs are written by others. */
const STEERING = /(\x1b\[[0-9;]*m)|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g

export function withoutSteering(text: string): string {
  return text.replace(STEERING, (_all, colour: string | undefined) => colour ?? '')
}
