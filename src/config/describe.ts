import type { ResolvedOptions } from './serve-options.ts'

/** The output of `scrapdeck config`: like a configuration file, with the origin of each value. */
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
