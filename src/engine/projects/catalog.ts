import type { Deployment, NodeId, ProjectName, VersionName } from '../../shared/contract/index.ts'
import { isScrapdeckError, ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/projects.ts'
import { sanitiseVersion } from '../../shared/ids.ts'
import { suggestNear } from '../../shared/near-matches.ts'
import type { StoredVersion, VersionChange } from '../model/records.ts'
import { versionOrder } from './version-order.ts'
import type { VersionStore } from '../storage/store.ts'

/** The version name of a project that runs without an egg. Scrapyd clients never see it. */
export const WITHOUT_EGG = '(settings)' as VersionName

/** All projects and versions in memory, so reads need no I/O. Changes are written to the store first. */
export class Catalog {
  readonly #known = new Map<ProjectName, Map<VersionName, StoredVersion>>()
  /** Version names by project and spelling. A node can list ten thousand names, and each is looked up. */
  readonly #spellings = new Map<ProjectName, Map<string, VersionName[]>>()
  readonly #withoutEgg = new Map<ProjectName, StoredVersion>()
  #names: readonly ProjectName[] | null = null
  readonly #ascending = new Map<ProjectName, readonly StoredVersion[]>()
  readonly #deployments = new WeakMap<readonly Deployment[], Map<string, Deployment>>()
  readonly #pinnedVersionOf: (project: ProjectName) => VersionName | null

  /** `pinnedVersionOf` returns the version that an operator pinned, which does not have to exist. */
  constructor(pinnedVersionOf: (project: ProjectName) => VersionName | null = () => null) {
    this.#pinnedVersionOf = pinnedVersionOf
  }

  /** Sorted. Returns the same list until a project is added or removed. */
  names(): readonly ProjectName[] {
    return (this.#names ??= [...new Set([...this.#known.keys(), ...this.#withoutEgg.keys()])].sort())
  }

  isKnown(project: ProjectName): boolean {
    return this.#known.has(project) || this.#withoutEgg.has(project)
  }

  all(): StoredVersion[] {
    return [...this.#known.values()].flatMap((versions) => [...versions.values()])
  }

  stored(): ProjectName[] {
    return [...this.#known.keys()]
  }

  withoutEgg(): StoredVersion[] {
    return [...this.#withoutEgg.values()]
  }

  remember(stored: StoredVersion): void {
    this.#ascending.delete(stored.project)
    if (!this.isKnown(stored.project)) this.#names = null
    const versions = this.#known.get(stored.project) ?? new Map<VersionName, StoredVersion>()
    this.#known.set(stored.project, versions.set(stored.version, stored))
    const spellings = this.#spellings.get(stored.project) ?? new Map<string, VersionName[]>()
    const spelling = sanitiseVersion(stored.version)
    const names = spellings.get(spelling) ?? []
    if (!names.includes(stored.version)) names.push(stored.version)
    this.#spellings.set(stored.project, spellings.set(spelling, names))
  }

  apply(changes: readonly VersionChange[]): void {
    for (const change of changes) {
      if (change.kind === 'put') this.remember(change.stored)
      else if (change.kind === 'delete') this.forget(change)
      else this.#changeDeployment(change)
    }
  }

  rememberWithoutEgg(stored: StoredVersion): void {
    this.#ascending.delete(stored.project)
    if (!this.isKnown(stored.project)) this.#names = null
    this.#withoutEgg.set(stored.project, stored)
  }

  forget({ project, version }: Pick<StoredVersion, 'project' | 'version'>): void {
    this.#ascending.delete(project)
    const versions = this.#known.get(project)
    versions?.delete(version)
    if (versions?.size === 0) {
      this.#known.delete(project)
      this.#names = null
    }
    const spelling = sanitiseVersion(version)
    const spellings = this.#spellings.get(project)
    // Another version may have the same spelling (`1.0` and `1_0`).
    const others = spellings?.get(spelling)?.filter((name) => name !== version) ?? []
    if (others.length === 0) spellings?.delete(spelling)
    else spellings?.set(spelling, others)
    if (spellings?.size === 0) this.#spellings.delete(project)
  }

  find(project: ProjectName, version: VersionName): StoredVersion | null {
    if (version === WITHOUT_EGG) return this.#versionWithoutEgg(project)
    const versions = this.#known.get(project)
    if (!versions) return null
    const meant = this.#spellings.get(project)?.get(sanitiseVersion(version))?.[0]
    return versions.get(version) ?? (meant === undefined ? null : (versions.get(meant) ?? null))
  }

  deploymentOn(nodeId: NodeId, { deployments }: StoredVersion): Deployment | undefined {
    let byNode = this.#deployments.get(deployments)
    if (byNode === undefined) {
      byNode = new Map(deployments.map((deployment) => [deployment.nodeId, deployment]))
      this.#deployments.set(deployments, byNode)
    }
    return byNode.get(nodeId)
  }

  /** Versions of one project, latest last. Versions known only from nodes come first, in their node's order. */
  ascending(project: ProjectName): readonly StoredVersion[] {
    const known = this.#ascending.get(project)
    if (known !== undefined) return known
    const versions = this.#sort(project)
    if (versions.length > 0) this.#ascending.set(project, versions)
    return versions
  }

  /** Version names, latest last; null for an unknown project. */
  versionNames(project: ProjectName): string[] | null {
    if (!this.isKnown(project)) return null
    return this.ascending(project).flatMap(({ version }) => (version === WITHOUT_EGG ? [] : [version]))
  }

  /**
   * Our highest version by name, or our newest if names cannot be ordered (version-order.ts). If we have none, the
   * latest on a node.
   */
  latestVersion(project: ProjectName): VersionName | null {
    return this.ascending(project).at(-1)?.version ?? null
  }

  /** The version for jobs that name none: the pinned one, else the latest; null if there is none. */
  activeVersion(project: ProjectName): VersionName | null {
    return this.versionToRun(project, null)
  }

  versionToRun(project: ProjectName, version: VersionName | null): VersionName | null {
    const named = version ?? this.#pinnedVersionOf(project)
    return named === null ? this.latestVersion(project) : (this.find(project, named)?.version ?? null)
  }

  /** Empty if the spiders are unknown. `version` null: the active version. */
  spidersOf(project: ProjectName, version: VersionName | null): string[] {
    return this.requireVersion(project, version).spiders ?? []
  }

  hasActiveSpider(project: ProjectName, spider: string): boolean {
    const version = this.activeVersion(project)
    return version !== null && this.spidersOf(project, version).includes(spider)
  }

  allSpidersOf(project: ProjectName): string[] {
    return [...new Set(this.ascending(project).flatMap(({ spiders }) => spiders ?? []))].sort()
  }

  knowsSpiders(project: ProjectName, version: VersionName): boolean {
    return (this.find(project, version)?.spiders ?? null) !== null
  }

  requireProject(project: ProjectName): readonly StoredVersion[] {
    if (!this.isKnown(project)) {
      const near =
        suggestNear(project, this.#known.keys()) || suggestNear(project, this.#withoutEgg.keys()) || ' Deploy it first.'
      throw noProject(project, near)
    }
    return this.ascending(project)
  }

  /** `version` null: the active version. Throws PROJECT_NOT_FOUND or VERSION_NOT_FOUND and suggests similar names. */
  requireVersion(project: ProjectName, version: VersionName | null): StoredVersion {
    const versions = this.requireProject(project)
    const named = version ?? this.#pinnedVersionOf(project)
    const stored = named === null ? versions.at(-1)! : this.find(project, named)
    if (stored) return stored
    if (version === null)
      throw new ScrapdeckError(
        'VERSION_NOT_FOUND',
        sentence('projects.pinned_version_missing', { project, version: named! })
      )
    const names = versions.map((one) => one.version)
    const near = suggestNear(version, names) || listed(names.toReversed())
    throw new ScrapdeckError('VERSION_NOT_FOUND', sentence('projects.no_version', { project, version, near }))
  }

  /** Like requireVersion; also throws VERSION_NOT_FOUND if we do not have the egg. */
  requireEgg(project: ProjectName, version: VersionName): StoredVersion {
    const stored = this.requireVersion(project, version)
    if (stored.sha256 === null) {
      throw new ScrapdeckError(
        'VERSION_NOT_FOUND',
        sentence('projects.version_without_egg', { version: stored.version, project })
      )
    }
    return stored
  }

  /** Like requireVersion; also throws SPIDER_NOT_FOUND. Accepts any spider if the spiders are unknown. */
  resolve(project: ProjectName, version: VersionName | null, spider: string): StoredVersion {
    const stored = this.requireVersion(project, version)
    if (stored.spiders !== null && !stored.spiders.includes(spider)) {
      const near = suggestNear(spider, stored.spiders) || listed(stored.spiders)
      throw new ScrapdeckError(
        'SPIDER_NOT_FOUND',
        sentence('projects.no_spider', { version: stored.version, project, spider, near }),
        { data: { spiders: stored.spiders.slice(0, 100) } }
      )
    }
    return stored
  }

  #changeDeployment(change: Extract<VersionChange, { kind: 'deploy' | 'undeploy' }>): void {
    const stored = this.#known.get(change.project)?.get(change.version)
    if (stored === undefined) return
    const nodeId = change.kind === 'deploy' ? change.deployment.nodeId : change.nodeId
    const others = stored.deployments.filter((one) => one.nodeId !== nodeId)
    this.remember({ ...stored, deployments: change.kind === 'deploy' ? [...others, change.deployment] : others })
  }

  #sort(project: ProjectName): StoredVersion[] {
    const own = (stored: StoredVersion) => (stored.sha256 === null && stored.version !== WITHOUT_EGG ? 0 : 1)
    const settingsVersion = this.#versionWithoutEgg(project)
    const versions = [...(this.#known.get(project)?.values() ?? []), ...(settingsVersion ? [settingsVersion] : [])]
    // Versions known only from nodes keep the node's order, because Scrapyd picks the latest by that order.
    const byName = versionOrder(versions.filter(own).map(({ version }) => version))
    return versions.sort(
      (one, other) =>
        own(one) - own(other) ||
        (own(one) === 1 ? (byName?.(one.version, other.version) ?? 0) : 0) ||
        one.createdAtMs - other.createdAtMs ||
        (one.version < other.version ? -1 : 1)
    )
  }

  /** Returns null if the project has an egg, because then the egg runs. */
  #versionWithoutEgg(project: ProjectName): StoredVersion | null {
    const hasEgg = [...(this.#known.get(project)?.values() ?? [])].some(({ sha256 }) => sha256 !== null)
    return hasEgg ? null : (this.#withoutEgg.get(project) ?? null)
  }
}

const LISTED_MAX = 5

function listed(names: readonly string[]): string {
  if (names.length === 0) return ''
  const first = names.slice(0, LISTED_MAX).map((name) => `"${name}"`)
  return ` It has ${first.join(', ')}${names.length > LISTED_MAX ? ` and ${names.length - LISTED_MAX} more` : ''}.`
}

export const noProject = (name: string, near = ' Deploy it first.'): ScrapdeckError =>
  new ScrapdeckError('PROJECT_NOT_FOUND', sentence('projects.no_project', { name, near }))

/** Hides similar names from users who cannot see all projects. */
export function withoutSimilarNames(project: ProjectName, error: unknown): unknown {
  return isScrapdeckError(error) && error.code === 'PROJECT_NOT_FOUND' ? noProject(project) : error
}

/** Rejects with VERSION_IN_USE while jobs need this version (null: any version). `advice` ends the message. */
export async function refuseInUse(
  store: Pick<VersionStore, 'countJobsNeeding'>,
  project: ProjectName,
  version: VersionName | null,
  advice: string
): Promise<void> {
  const count = await store.countJobsNeeding(project, version)
  if (count === 0) return
  const jobs = count === 1 ? '1 job that has not ended needs' : `${count} jobs that have not ended need`
  const what = version === null ? project : `version ${version} of ${project}`
  throw new ScrapdeckError('VERSION_IN_USE', sentence('projects.version_in_use', { jobs, what, advice }), {
    data: { count }
  })
}
