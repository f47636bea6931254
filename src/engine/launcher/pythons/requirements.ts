import { createHash } from 'node:crypto'

/** Requirements as far as they matter: no comments, no blank lines, one kind of line end. Order stays: indexes have one. */
export function normaliseRequirements(text: string): string {
  return text
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\r|\n/)
    .map((line) => line.replace(/(^|\s)#.*$/, '').trim())
    .filter((line) => line !== '')
    .join('\n')
}

/** Names an environment by its content: the same requirements for the same Python are one. Patch releases are the same Python. */
export function environmentId(requirements: string, pythonVersion: string): string {
  const minor = pythonVersion.split('.').slice(0, 2).join('.')
  return createHash('sha256')
    .update(`${minor}\n${normaliseRequirements(requirements)}`)
    .digest('hex')
    .slice(0, 12)
}

/**
 * What the runner needs beside them, and they do not name. Without a version where any will do, so that it cannot clash with theirs;
 * setuptools below 81: later ones have no pkg_resources, which many projects still import.
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

/** pip then wants a hash of everything that it installs in the same go. */
export function demandsHashes(requirements: string): boolean {
  return /(^|\s)--(hash|require-hashes)\b/m.test(normaliseRequirements(requirements))
}

/** `https://user:pass@host/simple` without what stands before the `@`: package indexes are often private. */
export function maskCredentials(text: string): string {
  return text.replace(/:\/\/[^\s/]+@/g, '://***@')
}
