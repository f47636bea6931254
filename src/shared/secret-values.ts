/** Replaces secret values in every response. */
export const SECRET_MASK = '\u2022\u2022\u2022\u2022\u2022\u2022'

interface Values {
  settings?: Record<string, string> | undefined
  args?: Record<string, string> | undefined
  env?: Record<string, string> | undefined
  secretNames?: readonly string[] | undefined
}

/** A copy with every secret value masked. */
export function maskSecrets<T extends Values>(run: T, mask = SECRET_MASK): T {
  return run.secretNames?.length ? withSecrets(run, () => mask) : run
}

/** A copy with every secret value replaced. */
export function withSecrets<T extends Values>(run: T, replace: (value: string) => string): T {
  const names = new Set(run.secretNames)
  const replaced = (values: Record<string, string> = {}) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, names.has(name) ? replace(value) : value]))
  return {
    ...run,
    settings: replaced(run.settings),
    args: replaced(run.args),
    ...(run.env !== undefined && { env: replaced(run.env) })
  }
}

/** The secret values, without duplicates. */
export function secretValues({ settings = {}, args = {}, env = {}, secretNames = [] }: Values): string[] {
  const values = secretNames.flatMap((name) =>
    [settings, args, env].filter((one) => Object.hasOwn(one, name)).map((one) => one[name]!)
  )
  return [...new Set(values)]
}

/** Replaces user name and password in every URL in a text: `redis://:secret@host/0`. */
export function maskCredentials(text: string): string {
  return text.replace(/:\/\/[^\s/]+@/g, '://***@')
}
