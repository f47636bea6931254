import { resolve as resolvePath } from 'node:path'
import { ScrapdeckError } from '../shared/errors.ts'
import { sentence } from '../shared/texts/errors/cli.ts'
import { maskCredentials } from '../shared/secret-values.ts'
import { readSwitch } from '../shared/ini.ts'
import { findOption, type OptionRow } from './option-table.ts'
import type { Configuration, ConfiguredValue } from './read-files.ts'
import type { ListedOption, ServeFlags } from './serve-options.ts'
import { readFileSync } from 'node:fs'

export interface OptionContext {
  flags: ServeFlags
  environment: Record<string, string | undefined>
  configuration: Configuration
  defaultDataDirectory: string
  /** The directory where the service was started. Relative paths are resolved against it, as in Scrapyd. */
  workingDirectory: string
  cpuCount: number
  /** The flag that names the configuration file, if it is not `--config`. */
  configFlag?: string
}

export class OptionReader {
  readonly listed: ListedOption[] = []
  readonly warnings: string[] = []
  readonly problems: string[] = []
  readonly context: OptionContext

  constructor(context: OptionContext) {
    this.context = context
  }

  /** Looks up the flag first, then the variables, then the files. Empty variables count as unset, as in Scrapyd. */
  pick(section: OptionRow['section'], name: string): ConfiguredValue | null {
    const { environment, flags } = this.context
    const option = findOption(section, name)
    const given = option?.flag === undefined ? undefined : flags[option.flag]
    if (given !== undefined) return { text: given === true ? 'on' : String(given), from: flagNameOf(option!.flag!) }
    const variable = option?.variables.find((one) => environment[one])
    if (variable !== undefined) return { text: environment[variable]!, from: variable }
    return section === 'variables' ? null : this.configured(section, name)
  }

  /** Looks in the files only. If the value cannot be resolved, records a problem and returns null. */
  configured(section: string, name: string): ConfiguredValue | null {
    try {
      const value = this.context.configuration.get(section, name)
      if (value === null || mayBeDiscovered(section, name)) return value
      return this.refuseFound(value, name) ? null : value
    } catch (error) {
      const { message } = error as Error
      if (!this.problems.includes(message)) this.problems.push(message)
      return null
    }
  }

  /** Refuses a value from a discovered file, which the user did not name. Returns whether it refused the value. */
  refuseFound(value: ConfiguredValue, name: string): boolean {
    if (value.discoveredIn === undefined || value.text === '') return false
    this.refuse(
      value,
      `${name} sets a path, code or access, which Scrapdeck takes only from a file that you name: ${this.context.configFlag ?? '--config'} ${value.discoveredIn}`
    )
    return true
  }

  /** Adds an entry to the output of `scrapdeck config`. Masks credentials in addresses. */
  list(section: string, name: string, text: string, picked: ConfiguredValue | null): void {
    const value = maskCredentials(text)
    this.listed.push({ section, name, value, from: picked?.from ?? 'default' })
  }

  /** Reads an option in [scrapdeck] and lists its value, or `byDefault` if it is not set. */
  text(name: string, byDefault = ''): ConfiguredValue | null {
    const picked = this.pick('scrapdeck', name)
    this.list('scrapdeck', name, picked?.text ?? byDefault, picked)
    return picked
  }

  path(name: string, byDefault = ''): string | null {
    const picked = this.text(name, byDefault)
    return picked === null || picked.text === '' ? null : resolvePath(this.context.workingDirectory, picked.text)
  }

  /** Like `text`, for a whole number. `unit` follows the minimum in the error message. */
  number(
    name: string,
    byDefault: number,
    { least = 0, most, unit = '' }: { least?: number; most: number; unit?: string }
  ): number {
    const picked = this.pick('scrapdeck', name)
    const value = (picked === null ? null : this.whole(picked, name, most)) ?? byDefault
    this.list('scrapdeck', name, String(value), picked)
    if (value < least) this.refuse(picked!, `${name} must be at least ${least}${unit}.`)
    return value
  }

  switch(name: string): boolean {
    const picked = this.pick('scrapdeck', name)
    const isOn = picked !== null && this.isOn(picked, name)
    this.list('scrapdeck', name, isOn ? 'on' : 'off', picked)
    return isOn
  }

  /** Returns the result of `parse`. If `parse` throws, records a problem and returns null. */
  parse<Value>(picked: ConfiguredValue, parse: () => Value): Value | null {
    try {
      return parse()
    } catch (error) {
      this.refuse(picked, (error as Error).message)
      return null
    }
  }

  warn(warning: string): void {
    this.warnings.push(warning)
  }

  /** Warns that options have no effect. A variable that sets two of them is named only once. */
  warnUseless(unused: { section: OptionRow['section']; name: string; picked: ConfiguredValue }[], why: string): void {
    const places = unused.map(({ section, name, picked: { from } }) =>
      findOption(section, name)?.variables.includes(from) ? from : `${from}: ${name}`
    )
    const each = [...new Set(places)]
    this.warn(`${each.join('; ')} ${each.length === 1 ? 'has' : 'have'} no effect: ${why}.`)
  }

  refuse(picked: ConfiguredValue, why: string): void {
    const problem = `${picked.from}: ${why}`
    if (!this.problems.includes(problem)) this.problems.push(problem)
  }

  /** Returns a whole number from 0 to `maximum`. For any other value, records a problem and returns null. */
  whole(picked: ConfiguredValue, name: string, maximum: number): number | null {
    const text = name === 'http_port' && picked.text === '' ? '0' : picked.text
    const value = Number(text)
    if (/^\d+$/.test(text) && value <= maximum) return value
    // If a flag set the value, `from` is already the name.
    const what = `${name} must be a whole number from 0 to ${maximum}, not "${picked.text}".`
    if (name === picked.from) this.problems.push(what)
    else this.refuse(picked, what)
    return null
  }

  isOn(picked: ConfiguredValue, name: string): boolean {
    const isOn = readSwitch(picked.text)
    if (isOn === null) this.refuse(picked, `${name} is on or off, not "${picked.text}".`)
    return isOn ?? false
  }
}

const flagNameOf = (flag: string) => `--${flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

function mayBeDiscovered(section: string, name: string): boolean {
  return section === 'services' || findOption(section, name)?.mayBeDiscovered === true
}

export function refuseProblems(problems: string[]): void {
  if (problems.length > 0) throw new ScrapdeckError('BAD_INPUT', problems.join('\n'))
}

/** Returns the first line of a file that contains a database password. Throws BAD_INPUT if the file cannot be read. */
export function readPasswordFile(path: string): string {
  try {
    return readFileSync(path, 'utf8').split(/\r?\n/)[0]!
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    const text = sentence('cli.database_password_unreadable', { path, code })
    throw new ScrapdeckError('BAD_INPUT', text, { cause: error })
  }
}
