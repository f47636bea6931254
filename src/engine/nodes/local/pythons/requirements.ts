import { createHash } from 'node:crypto'

/** Removes comments and blank lines, and unifies line endings. Keeps the order, which matters for indexes. */
export function normaliseRequirements(text: string): string {
  return text
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\r|\n/)
    .map((line) => line.replace(/(^|\s)#.*$/, '').trim())
    .filter((line) => line !== '')
    .join('\n')
}

export function environmentId(requirements: string, pythonVersion: string): string {
  const minor = pythonVersion.split('.').slice(0, 2).join('.')
  return createHash('sha256')
    .update(`${minor}\n${normaliseRequirements(requirements)}`)
    .digest('hex')
    .slice(0, 12)
}

/**
 * Packages that the runner needs and the requirements do not name. Scrapy is not pinned, to avoid conflicts. setuptools
 * is limited to versions below 81, because later versions lack pkg_resources, which many projects import.
 */
export function addedRequirements(requirements: string): string[] {
  const named = new Set(
    normaliseRequirements(requirements)
      .split('\n')
      .flatMap((line) => [/^[A-Za-z0-9][\w.-]*/.exec(line)?.[0], /#egg=([\w.-]+)/.exec(line)?.[1]])
      .map((name) => name?.toLowerCase().replace(/[-_.]+/g, '-'))
  )
  return [
    ['scrapy', 'Scrapy'],
    ['setuptools', 'setuptools<81']
  ].flatMap(([name, requirement]) => (named.has(name) ? [] : [requirement!]))
}

/** If one requirement has a hash, pip requires a hash for every package in the command. */
export function demandsHashes(requirements: string): boolean {
  return /(^|\s)--(hash|require-hashes)\b/m.test(normaliseRequirements(requirements))
}
