import { type Command, InvalidArgumentError, Option } from 'commander'
import { UNUSABLE_NAME } from '../../shared/reserved-arguments.ts'

/** `-a name=value`, repeatable. */
export function collectPair(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('Write name=value.')
  const name = text.slice(0, at)
  if (name === UNUSABLE_NAME) throw new InvalidArgumentError(`${name} is not supported as a name.`)
  return { ...before, [name]: text.slice(at + 1) }
}

export function collect(text: string, before: string[] = []): string[] {
  return [...before, text]
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Write a whole number, 0 or more.')
  return Number(text)
}

/**
 * Adds `--yes` to a command that otherwise only shows what it would do. `--dry-run` lets scripts request that default
 * explicitly.
 */
export function withConsent(command: Command): Command {
  return command
    .option('--yes', 'apply the changes')
    .addOption(new Option('--dry-run', 'only show the changes (default)').conflicts('yes'))
}
