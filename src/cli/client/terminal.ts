/** Everything that a command uses on the machine. Injected, so that tests can run commands in their own process. */
export interface Terminal {
  out(text: string): void
  error(text: string): void
  /** Whether standard output is a terminal: untrusted text is then printed without control characters. */
  isTerminal: boolean
  environment: Record<string, string | undefined>
  directory: string
  homeDirectory: string
  /** Fires when the user interrupts. */
  interrupted: AbortSignal
  nowMs(): number
  sleep(ms: number): Promise<void>
  /** The line that the user types after this question; null: the terminal is not interactive. */
  ask(question: string): Promise<string | null>
  /** null: no browser can be opened here. */
  openBrowser: OpenBrowser | null
  /** The service on this machine, according to these flags, variables and installed configuration files. */
  localService(flags: LocalFlags): LocalService
}

export interface LocalService {
  /** The port on which the service would listen; null: not on TCP. */
  port: number | null
  dataDirectory: string
}

export interface LocalFlags {
  data?: string | undefined
  port?: string | undefined
  config?: string | undefined
}

/**
 * Control characters in untrusted text, except line ends and tabs. Colours match separately, so that they can be kept.
 */
const STEERING = /(\x1b\[[0-9;]*m)|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** For logs, which may be coloured. Each line ends its colours and conceals nothing. */
export function withoutSteering(text: string): string {
  const isShown = (colour: string) => !/[[;]0*8[;m]/.test(colour.replace(/[34]8;(?:5|2;\d+;\d+);\d+/g, ''))
  const clean = text.replace(STEERING, (_all, colour?: string) => (colour && isShown(colour) ? colour : ''))
  return clean.replace(/^.*\x1b.*$/gm, '$&\x1b[0m')
}

/** For all other text: without colours, which can hide what follows. */
export function withoutControls(text: string): string {
  return text.replace(STEERING, '')
}

/** JSON for a terminal: also escapes characters that JSON leaves as they are but terminals act on. */
export function safeJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(
    /[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`
  )
}

type OpenBrowser = (url: string) => Promise<void>

/** null: there is no browser that this user would see. */
export function findBrowser(
  environment: Record<string, string | undefined>,
  platform = process.platform
): OpenBrowser | null {
  const isOverSsh = Boolean(environment['SSH_CONNECTION'] || environment['SSH_TTY'])
  // In WSL, Windows provides the browser.
  const hasDisplay = ['DISPLAY', 'WAYLAND_DISPLAY', 'WSL_DISTRO_NAME'].some((name) => Boolean(environment[name]))
  const needsDisplay = platform !== 'win32' && platform !== 'darwin'
  if (isOverSsh || (needsDisplay && !hasDisplay)) return null
  return async (url) => {
    const { default: open } = await import('open')
    const opener = await open(url)
    // The address is also printed.
    opener.on('error', () => {})
  }
}
