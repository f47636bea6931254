import { resolve as resolvePath } from 'node:path'
import type { OptionContext } from './option-reader.ts'
import { OPTIONS, type OptionRow } from './option-table.ts'
import type { Configuration } from './read-files.ts'
import type { ServeFlags } from './serve-options.ts'

/** Of S3 (engine/blobs/s3/credentials.ts). */
const OTHER_VARIABLES = [
  ...['AWS_SHARED_CREDENTIALS_FILE', 'AWS_CONFIG_FILE', 'AWS_WEB_IDENTITY_TOKEN_FILE'],
  'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE'
]

/**
 * Every file with a secret of this service, wherever it is named: also where a flag or a variable overrides it, since
 * it still holds that secret. Configuration files are among them because of the passwords that they may have.
 */
export function listSecretFiles({ flags, environment, configuration, workingDirectory }: OptionContext): string[] {
  const named = OPTIONS.filter(({ holdsSecret }) => holdsSecret).flatMap(({ section, name, variables }) => [
    flags[flagOf(name)],
    ...variables.map((variable) => environment[variable]),
    readIfPossible(configuration, section, name)
  ])
  const paths = [...named, ...OTHER_VARIABLES.map((variable) => environment[variable]), ...configuration.files]
  const given = paths.filter((path): path is string => typeof path === 'string' && path !== '')
  return [...new Set(given.map((path) => resolvePath(workingDirectory, path)))]
}

/** `tls_key`: tlsKey. */
const flagOf = (name: string) =>
  name.replace(/_(\w)/g, (_all, letter: string) => letter.toUpperCase()) as keyof ServeFlags

/** A value that cannot be resolved is refused where its option is read, unless it is overridden. */
function readIfPossible(configuration: Configuration, section: OptionRow['section'], name: string): string | undefined {
  try {
    return configuration.get(section, name)?.text
  } catch {
    return undefined
  }
}
