import type { ProjectName } from '../../shared/contract/index.ts'

/** `own`: Scrapdeck's own keys for crawl orders and idempotent requests. */
type ChosenBy = 'client' | 'own'

/** Returns the stored form. Keys of different projects, and clients' and our own keys, never collide in it. */
export function dedupeKeyOf(project: ProjectName, chosenBy: ChosenBy, key: string): string {
  return `${JSON.stringify([project, chosenBy])}${key}`
}

/** Returns the key that the client sent. Old jobs stored it without a project. Pure. */
export function givenDedupeKey(project: ProjectName, stored: string | null): string | null {
  if (stored === null) return null
  const prefix = (['client', 'own'] as const)
    .map((by) => dedupeKeyOf(project, by, ''))
    .find((one) => stored.startsWith(one))
  return stored.slice(prefix?.length ?? 0)
}
