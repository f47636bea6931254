/** Everything on the machine that a command uses. Tests replace it to run commands in their own process. */
export interface Terminal {
  out(text: string): void
  error(text: string): void
  /** Whether standard output is a terminal. If so, commands remove control characters from untrusted text. */
  isTerminal: boolean
  environment: Record<string, string | undefined>
  directory: string
  homeDirectory: string
  interrupted: AbortSignal
  nowMs(): number
  sleep(ms: number): Promise<void>
  /** Returns the line that the user types, or null if the terminal is not interactive. */
  ask(question: string): Promise<string | null>
  /** null if no browser can be opened here. */
  openBrowser: OpenBrowser | null
  localService(flags: LocalFlags): LocalService
}

export interface LocalService {
  /** The port on which the service would listen, or null if it does not use TCP. */
  port: number | null
  dataDirectory: string
}

export interface LocalFlags {
  data?: string | undefined
  port?: string | undefined
  config?: string | undefined
}

/** Control characters in untrusted text, except line ends and tabs. The first group matches colour codes. */
const STEERING = /(\x1b\[[0-9;]*m)|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/**
 * Removes control characters from logs. Keeps colours, except those that hide text, and resets them at the end of each
 * line.
 */
export function withoutSteering(text: string): string {
  const isShown = (colour: string) => !/[[;]0*8[;m]/.test(colour.replace(/[34]8;(?:5|2;\d+;\d+);\d+/g, ''))
  const clean = text.replace(STEERING, (_all, colour?: string) => (colour && isShown(colour) ? colour : ''))
  return clean.replace(/^.*\x1b.*$/gm, '$&\x1b[0m')
}

/** For everything except logs. Removes colours too, because colours can hide text. */
export function withoutControls(text: string): string {
  return text.replace(STEERING, '')
}

/** Returns JSON for a terminal. Also escapes the characters that JSON allows but a terminal interprets. */
export function safeJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(
    /[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`
  )
}

type OpenBrowser = (url: string) => Promise<void>

/** Returns null if a browser would not be visible to this user. */
export function findBrowser(environment: Record<string, string | undefined>): OpenBrowser | null {
  const isOverSsh = Boolean(environment['SSH_CONNECTION'] || environment['SSH_TTY'])
  const hasDisplay = ['DISPLAY', 'WAYLAND_DISPLAY', 'WSL_DISTRO_NAME'].some((name) => Boolean(environment[name]))
  const needsDisplay = process.platform !== 'win32' && process.platform !== 'darwin'
  if (isOverSsh || (needsDisplay && !hasDisplay)) return null
  return async (url) => {
    const { default: open } = await import('open')
    const opener = await open(url)
    // Ignore errors, because the command also prints the address.
    opener.on('error', () => {})
  }
}
