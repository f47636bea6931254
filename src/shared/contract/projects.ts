import { eventIterator } from '@orpc/contract'
import { z } from 'zod'
import { NodeId, ProjectName, AnyProjectName, AnyVersionName, VersionName } from './ids.ts'
import { read, write } from './operation.ts'
import { JobDefaults, OutcomeRules, ProjectSettings } from './settings.ts'

/**
 * The state of a version on one node. `present`: the egg that Scrapdeck sent. `missing`: Scrapdeck sent it, but the
 * node no longer has it. `foreign`: the node lists a version with this name from another source, so its code may
 * differ.
 */
export const Deployment = z.object({
  nodeId: NodeId,
  state: z.enum(['sending', 'present', 'failed', 'missing', 'foreign']),
  /** Hash of the egg that we sent there; null: we sent none. */
  sha256: z.string().nullable(),
  error: z.string().nullable(),
  changedAtMs: z.number()
})
export type Deployment = z.infer<typeof Deployment>

export const Version = z.object({
  project: AnyProjectName,
  version: AnyVersionName,
  /** null: the version was only seen on nodes, so there is no egg to send. */
  sha256: z.string().nullable(),
  sizeBytes: z.number().int().nullable(),
  /** null: not listed yet (there is no Python here, and no node has listed them). */
  spiders: z.array(z.string()).nullable(),
  createdAtMs: z.number(),
  /** Set if nodes with Scrapyd before 1.4 and nodes with a later release sort this version differently. */
  orderWarning: z.string().nullable(),
  deployments: z.array(Deployment)
})
export type Version = z.infer<typeof Version>

const { shape: each } = ProjectSettings
/** Absent settings stay unchanged. The defaults and the outcome rules of a spider are replaced; null: removed. */
export const ProjectSettingsChange = z.object({
  python: each.python.optional(),
  limits: each.limits.optional(),
  weight: each.weight.unwrap().optional(),
  paused: each.paused.unwrap().optional(),
  retry: each.retry.unwrap().optional(),
  noOverlap: each.noOverlap.unwrap().optional(),
  cancelWaitSeconds: each.cancelWaitSeconds.unwrap().optional(),
  distribution: each.distribution.unwrap().optional(),
  pinnedVersion: each.pinnedVersion,
  defaults: each.defaults.unwrap().optional(),
  spiderDefaults: z.record(z.string().min(1).max(200), JobDefaults.nullable()).optional(),
  outcome: each.outcome.unwrap().optional(),
  spiderOutcomes: z.record(z.string().min(1).max(200), OutcomeRules.nullable()).optional(),
  expectations: each.expectations.unwrap().optional(),
  keepItems: each.keepItems.unwrap().optional()
})
export type ProjectSettingsChange = z.infer<typeof ProjectSettingsChange>

export const Project = z.object({
  name: AnyProjectName,
  /** The highest by version order. */
  latestVersion: AnyVersionName.nullable(),
  /** The version for jobs without one: the pinned one, else the latest. null: there is none, so they wait. */
  activeVersion: AnyVersionName.nullable(),
  settings: ProjectSettings,
  /**
   * Uploads an egg, a wheel, or a zip of a folder with scrapy.cfg, from which an egg is built. `project` and `version`
   * default to the archive's own metadata and to the current time (`20261119T181000`). `pinnedVersion`: the project's
   * pin, which an upload does not change; if it is another version, jobs without a version run that one.
   */
  versions: z.array(Version)
})
export type Project = z.infer<typeof Project>

const ByVersion = z.object({ project: ProjectName, version: VersionName })

export const projectsContract = {
  list: read('read', 'GET /projects', 'seen').output(z.object({ projects: z.array(Project) })),
  get: read('read', 'GET /projects/{project}', { project: 'project' })
    .input(z.object({ project: ProjectName }))
    .output(Project),
  /**
   * Uploads an egg, a wheel, or a zip of a folder with scrapy.cfg, from which an egg is built. `project` and `version`
   * default to the archive's own metadata and to the current time (`20261119T181000`). `pinnedVersion`: the project's
   * pin, which an upload does not change; if it is another version, jobs without a version run that one.
   */
  upload: write('eggs.deploy', 'POST /projects', { project: 'project' })
    .input(z.object({ file: z.file(), project: ProjectName.optional(), version: VersionName.optional() }))
    .output(Version.extend({ pinnedVersion: AnyVersionName.nullable() })),
  /** Sends a version to nodes now instead of before the first job that needs it. Streams the progress per node. */
  deploy: write('eggs.deploy', 'POST /projects/{project}/versions/{version}/deploy', { project: 'project' })
    .input(ByVersion.extend({ nodeIds: z.array(NodeId).max(10_000).optional() }))
    .output(eventIterator(Deployment)),
  /** Replaces the settings of a project. Runs that have already started keep the old ones. */
  configure: write('projects.change', 'PUT /projects/{project}/settings', { project: 'project' })
    .input(z.object({ project: ProjectName, settings: ProjectSettings }))
    .output(Project),
  /** Changes only these settings, so that concurrent changes of other settings both succeed. */
  changeSettings: write('projects.change', 'PATCH /projects/{project}/settings', { project: 'project' })
    .input(z.object({ project: ProjectName, settings: ProjectSettingsChange }))
    .output(Project),
  setPaused: write('queue.pause', 'POST /projects/{project}/paused', { project: 'project' })
    .input(z.object({ project: ProjectName, paused: z.boolean() }))
    .output(Project),
  /** Pins the active version, or rolls back to an older one; null: unpins, so the latest is active again. */
  pinVersion: write('eggs.deploy', 'POST /projects/{project}/pinned-version', { project: 'project' })
    .input(z.object({ project: ProjectName, version: VersionName.nullable() }))
    .output(Project),
  /** Refused for the pinned version. */
  deleteVersion: write('projects.delete', 'DELETE /projects/{project}/versions/{version}', { project: 'project' })
    .input(ByVersion)
    .output(z.object({ failedNodes: z.array(Deployment) })),
  deleteProject: write('projects.delete', 'DELETE /projects/{project}', { project: 'project' })
    .input(z.object({ project: ProjectName }))
    .output(z.object({ failedNodes: z.array(Deployment) }))
}
