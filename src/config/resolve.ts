import { checkOtherOptions } from './check-other-options.ts'
import { type OptionContext, OptionReader, refuseProblems } from './option-reader.ts'
import { plainHttpOn } from './host-options.ts'
import { readOwnOptions } from './read-own-options.ts'
import { readScrapydOptions } from './read-scrapyd-options.ts'
import type { ResolvedOptions, ServeOptions } from './serve-options.ts'
import { resolve as resolvePath } from 'node:path'
import { OPTIONS, type OptionRow } from './option-table.ts'
import type { Configuration } from './read-files.ts'

/** Throws BAD_INPUT, which lists every rejected option with the reason and the remedy. */
export function resolveServeOptions(context: OptionContext): ResolvedOptions {
  const reader = new OptionReader(context)
  const options: ServeOptions = {
    ...readScrapydOptions(reader),
    ...readOwnOptions(reader),
    secretFiles: listSecretFiles(context)
  }
  checkOtherOptions(reader)
  const { listed, warnings, problems } = reader
  if (options.port === null && options.unixSocketPath === null) {
    problems.push(
      'http_port or bind_address is empty and there is no unix_socket_path: Scrapdeck would not be reachable. Set one of them.'
    )
  }
  if (options.tls?.files === 'self-made' && options.tls.clientAuthority !== null && options.postgres !== null) {
    problems.push(
      'tls_client_ca needs tls_certificate and tls_key on PostgreSQL: engines show each other their certificate, which that authority must have signed.'
    )
  }
  const plain = plainHttpOn(options)
  if (plain !== null && options.allowPlainHttp) {
    reader.warn(
      `allow_plain_http: ${plain} is reachable from other machines over plain HTTP, so passwords can be intercepted. Set tls_certificate and tls_key, or put a proxy with TLS in front and set behind_proxy.`
    )
  }
  refuseProblems(problems)
  return { options, listed, warnings }
}

const OTHER_VARIABLES = [
  ...['AWS_SHARED_CREDENTIALS_FILE', 'AWS_CONFIG_FILE', 'AWS_WEB_IDENTITY_TOKEN_FILE'],
  'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE'
]

/**
 * Includes configuration files, which can contain passwords, and files named by overridden options, because these files
 * still hold the secret.
 */
function listSecretFiles({ flags, environment, configuration, workingDirectory }: OptionContext): string[] {
  const named = OPTIONS.filter(({ holdsSecret }) => holdsSecret).flatMap(({ section, name, flag, variables }) => [
    flag && flags[flag],
    ...variables.map((variable) => environment[variable]),
    readIfPossible(configuration, section, name)
  ])
  const paths = [...named, ...OTHER_VARIABLES.map((variable) => environment[variable]), ...configuration.files]
  const given = paths.filter((path): path is string => typeof path === 'string' && path !== '')
  return [...new Set(given.map((path) => resolvePath(workingDirectory, path)))]
}

/** Ignores a value that cannot be resolved. The option's reader refuses it unless another source overrides it. */
function readIfPossible(configuration: Configuration, section: OptionRow['section'], name: string): string | undefined {
  try {
    return configuration.get(section, name)?.text
  } catch {
    return undefined
  }
}

export function describeConfiguration(files: string[], { listed, warnings }: ResolvedOptions): string {
  const lines = files.length === 0 ? ['# No configuration file was found.'] : files.map((file) => `# Read: ${file}`)
  lines.push(...warnings.map((warning) => `# Warning: ${warning}`))
  for (const section of ['scrapyd', 'cache', 'metrics', 'services', 'settings', 'scrapdeck', 'variables']) {
    const options = listed.filter((option) => option.section === section)
    if (options.length === 0) continue
    lines.push('', `[${section}]`)
    const width = Math.max(...options.map(({ name, value }) => `${name} = ${value}`.length))
    lines.push(
      ...options.map(({ name, value, from }) => `${`${name} = ${value}`.padEnd(Math.min(width, 60))}  # ${from}`)
    )
  }
  return `${lines.join('\n')}\n`
}
