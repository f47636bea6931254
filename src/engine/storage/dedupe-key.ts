import type { ProjectName } from '../../shared/contract/index.ts'

/** Scrapdeck chooses keys for crawl orders and idempotent requests. */
type ChosenBy = 'client' | 'own'

/** The stored form: keys of different projects never collide, nor do clients' keys and ours. */
export function dedupeKeyOf(project: ProjectName, chosenBy: ChosenBy, key: string): string {
  return `${JSON.stringify([project, chosenBy])}${key}`
}

/** The key as the client gave it. Old jobs have it without a project. Pure. */
export function givenDedupeKey(project: ProjectName, stored: string | null): string | null {
  if (stored === null) return null
  const prefix = (['client', 'own'] as const)
    .map((by) => dedupeKeyOf(project, by, ''))
    .find((one) => stored.startsWith(one))
  return stored.slice(prefix?.length ?? 0)
}
