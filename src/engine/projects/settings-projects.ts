import type { ProjectName } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/projects.ts'
import { LOCAL_NODE_ID } from '../../shared/ids.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { type Catalog, WITHOUT_EGG } from './catalog.ts'
import { isModuleName, problemOfPathPart } from './names.ts'

export interface SettingsSource {
  settingsModule: string
  /** Folders and eggs at the start of Python's path. */
  path: string[]
}

export interface SettingsProjectsParts {
  settingsProjects?: Record<string, SettingsSource>
  listSpidersOfSettings?: ((project: ProjectName) => Promise<string[]>) | null
  catalog: Catalog
  clock: Clock
  logger: Logger
}

/** Projects from `[settings]` of scrapyd.conf, without an egg. They are only in the catalog, not in the store. */
export class SettingsProjects {
  readonly #parts: SettingsProjectsParts
  readonly #sources: Map<ProjectName, SettingsSource>

  /** Throws BAD_INPUT for invalid project or module names. */
  constructor(parts: SettingsProjectsParts) {
    this.#parts = parts
    this.#sources = new Map(Object.entries(parts.settingsProjects ?? {}) as [ProjectName, SettingsSource][])
    for (const [project, { settingsModule }] of this.#sources) {
      checkSettingsProject(project, settingsModule)
      const nowMs = parts.clock.nowMs()
      const empty = { sha256: null, sizeBytes: null, spiders: null, createdAtMs: nowMs }
      const here = { nodeId: LOCAL_NODE_ID, state: 'present', sha256: null, error: null, changedAtMs: nowMs } as const
      parts.catalog.rememberWithoutEgg({ project, version: WITHOUT_EGG, ...empty, deployments: [here] })
    }
  }

  sourceOf(project: ProjectName): SettingsSource | undefined {
    return this.#sources.get(project)
  }

  async listSpiders(): Promise<void> {
    const { catalog, listSpidersOfSettings = null, logger } = this.#parts
    if (listSpidersOfSettings === null) return
    for (const stored of catalog.withoutEgg()) {
      const { project } = stored
      try {
        catalog.rememberWithoutEgg({ ...stored, spiders: await listSpidersOfSettings(project) })
      } catch (error) {
        const { message } = error as Error
        logger.warn({ project, error: message }, 'a project in [settings] cannot be imported; check its module')
      }
    }
  }
}

function checkSettingsProject(project: ProjectName, settingsModule: string): void {
  const problem = problemOfPathPart(project)
  if (problem)
    throw new ScrapdeckError('BAD_INPUT', sentence('projects.settings_project_invalid', { project, problem }))
  if (!isModuleName(settingsModule)) {
    throw new ScrapdeckError('BAD_INPUT', sentence('projects.settings_module_invalid', { project, settingsModule }))
  }
}
