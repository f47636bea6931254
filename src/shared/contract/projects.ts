import { eventIterator } from '@orpc/contract'
import { z } from 'zod'
import { NodeId, ProjectName, AnyProjectName, AnyVersionName, VersionName } from './ids.ts'
import { read, write } from './operation.ts'
import { JobDefaults, OutcomeRules, ProjectSettings } from './settings.ts'

/**
 * The state of a version on one node. `present`: the node has the egg that Scrapdeck sent. `missing`: the egg has
 * disappeared from the node. `foreign`: the node lists a version of this name from another source, so its code can
 * differ.
 */
export const Deployment = z.object({
  nodeId: NodeId,
  state: z.enum(['sending', 'present', 'failed', 'missing', 'foreign']),
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
  /** null: not listed yet (there is no Python here, and no node has listed the spiders). */
  spiders: z.array(z.string()).nullable(),
  createdAtMs: z.number(),
  /** Set if nodes with Scrapyd before 1.4 and nodes with a later release sort this version differently. */
  orderWarning: z.string().nullable(),
  deployments: z.array(Deployment)
})
export type Version = z.infer<typeof Version>

const { shape: each } = ProjectSettings
/** Absent settings stay unchanged. The defaults and outcome rules of a spider are replaced, or removed if null. */
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
  latestVersion: AnyVersionName.nullable(),
  /**
   * The version for jobs without one: the pinned version, otherwise the latest. null: there is none, so these jobs
   * wait.
   */
  activeVersion: AnyVersionName.nullable(),
  settings: ProjectSettings,
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
   * Uploads an egg, a wheel, or a zip of a folder with scrapy.cfg, from which an egg is built. `project` and
   * `version` default to the archive's metadata and to the current time (`20261119T181000`). An upload does not
   * change `pinnedVersion`: if another version is pinned, jobs without a version run the pinned version.
   */
  upload: write('eggs.deploy', 'POST /projects', { project: 'project' })
    .input(z.object({ file: z.file(), project: ProjectName.optional(), version: VersionName.optional() }))
    .output(Version.extend({ pinnedVersion: AnyVersionName.nullable() })),
  /**
   * Sends a version to nodes immediately instead of before the first job that needs it. Streams the progress per node.
   */
  deploy: write('eggs.deploy', 'POST /projects/{project}/versions/{version}/deploy', { project: 'project' })
    .input(ByVersion.extend({ nodeIds: z.array(NodeId).max(10_000).optional() }))
    .output(eventIterator(Deployment)),
  /** Replaces the settings of a project. Runs that have already started keep their settings. */
  configure: write('projects.change', 'PUT /projects/{project}/settings', { project: 'project' })
    .input(z.object({ project: ProjectName, settings: ProjectSettings }))
    .output(Project),
  /** Changes only the given settings, so that concurrent changes of different settings both succeed. */
  changeSettings: write('projects.change', 'PATCH /projects/{project}/settings', { project: 'project' })
    .input(z.object({ project: ProjectName, settings: ProjectSettingsChange }))
    .output(Project),
  setPaused: write('queue.pause', 'POST /projects/{project}/paused', { project: 'project' })
    .input(z.object({ project: ProjectName, paused: z.boolean() }))
    .output(Project),
  /** Pins the active version, or rolls back to an older version; null: unpins, so the latest is active again. */
  pinVersion: write('eggs.deploy', 'POST /projects/{project}/pinned-version', { project: 'project' })
    .input(z.object({ project: ProjectName, version: VersionName.nullable() }))
    .output(Project),
  deleteVersion: write('projects.delete', 'DELETE /projects/{project}/versions/{version}', { project: 'project' })
    .input(ByVersion)
    .output(z.object({ failedNodes: z.array(Deployment) })),
  deleteProject: write('projects.delete', 'DELETE /projects/{project}', { project: 'project' })
    .input(z.object({ project: ProjectName }))
    .output(z.object({ failedNodes: z.array(Deployment) }))
}
