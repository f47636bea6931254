import { ScrapdeckError } from '../shared/errors.ts'

/** `scrapdeck serve`, resolved: command line, then SCRAPDECK_*, then Scrapyd's own variables, then defaults. */
export interface ServeOptions {
  dataDirectory: string
  bindAddress: string
  port: number
  credentials: { username: string; password: string } | null
  /** null: one for each CPU. */
  localSlots: number | null
  pythonPath: string | null
  allowedHosts: string[]
}

/** As commander gives them: text, as typed. */
export interface ServeFlags {
  data?: string
  bind?: string
  port?: string
  username?: string
  password?: string
  localSlots?: string
  python?: string
  allowedHost?: string[]
}

const DEFAULT_PORT = 6800

/** Throws BAD_INPUT for what cannot be meant. Empty variables count as absent, as in Scrapyd. */
export function resolveServeOptions(
  flags: ServeFlags,
  environment: Record<string, string | undefined>,
  defaultDataDirectory: string
): ServeOptions {
  const fromEnvironment = (...names: string[]) => names.map((name) => environment[name]).find((value) => value)
  const username = flags.username ?? fromEnvironment('SCRAPDECK_USERNAME', 'SCRAPYD_USERNAME')
  const password = flags.password ?? fromEnvironment('SCRAPDECK_PASSWORD', 'SCRAPYD_PASSWORD')
  if ((username === undefined) !== (password === undefined)) {
    throw new ScrapdeckError(
      'BAD_INPUT',
      'Give the user name and the password together, or neither: then they are made for you.'
    )
  }
  const localSlots = flags.localSlots ?? fromEnvironment('SCRAPDECK_LOCAL_SLOTS')
  const allowedHost = fromEnvironment('SCRAPDECK_ALLOWED_HOST')
  return {
    dataDirectory: flags.data ?? fromEnvironment('SCRAPDECK_DATA') ?? defaultDataDirectory,
    bindAddress: flags.bind ?? fromEnvironment('SCRAPDECK_BIND', 'SCRAPYD_BIND_ADDRESS') ?? '127.0.0.1',
    port: resolvePort(flags.port, environment),
    credentials: username === undefined || password === undefined ? null : { username, password },
    localSlots: localSlots === undefined ? null : parseWhole(localSlots, '--local-slots', 1000),
    pythonPath: flags.python ?? fromEnvironment('SCRAPDECK_PYTHON') ?? null,
    allowedHosts: flags.allowedHost ?? allowedHost?.split(',').map((host) => host.trim()) ?? []
  }
}

export function resolvePort(flag: string | undefined, environment: Record<string, string | undefined>): number {
  const port = flag ?? (environment.SCRAPDECK_PORT || environment.SCRAPYD_HTTP_PORT)
  return port ? parseWhole(port, '--port', 65_535) : DEFAULT_PORT
}

function parseWhole(text: string, name: string, maximum: number): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value > maximum) {
    throw new ScrapdeckError('BAD_INPUT', `${name} takes a whole number from 0 to ${maximum}, not "${text}".`)
  }
  return value
}
