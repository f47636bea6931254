import { eventIterator } from '@orpc/contract'
import { z } from 'zod'
import { NodeId, ProjectName, AnyProjectName, AnyVersionName, VersionName } from './ids.ts'
import { read, write } from './operation.ts'
import { CancelWaitSeconds, RetryPolicy, RunEnvironment, RunLimits, TagTerm } from './jobs.ts'

/**
 * The state of a version on one node. `present`: the egg that we sent. `missing`: we sent it, but the node no longer
 * has it. `foreign`: the node lists a version with this name that we did not send, so its code may differ.
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
  /** null: we only saw it on nodes and have no egg to send. */
  sha256: z.string().nullable(),
  sizeBytes: z.number().int().nullable(),
  /** null: not listed yet (no Python here, and no node was asked). */
  spiders: z.array(z.string()).nullable(),
  createdAtMs: z.number(),
  /** Set if nodes with Scrapyd before 1.4 and later ones order it differently among those they have. */
  orderWarning: z.string().nullable(),
  deployments: z.array(Deployment)
})
export type Version = z.infer<typeof Version>

/**
 * The Python that runs a project on the local node. `requirements`: an environment of its own, built once per content.
 */
export const ProjectPython = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('default') }),
  z.object({ kind: z.literal('interpreter'), path: z.string().min(1).max(4000) }),
  z.object({ kind: z.literal('requirements'), text: z.string().min(1).max(200_000) })
])
export type ProjectPython = z.infer<typeof ProjectPython>

const StringMap = z.record(z.string(), z.string())

/** What an order starts from; what it names itself takes precedence. */
export const JobDefaults = z.object({
  args: StringMap.default({}),
  settings: StringMap.default({}),
  env: RunEnvironment.default({}),
  /** Names with secret values, which responses replace by SECRET_MASK. Sent back masked, they stay as they are. */
  secretNames: z.array(z.string().max(200)).max(100).default([]),
  /** null: unset. */
  priority: z.number().finite().nullable().default(null),
  /** A node, or tags; neither: unset. */
  nodeId: NodeId.nullable().default(null),
  tags: z.array(TagTerm).max(20).default([])
})
export type JobDefaults = z.infer<typeof JobDefaults>
export const NO_DEFAULTS: JobDefaults = JobDefaults.parse({})

/** The operator's settings for a project. They outlive the project's versions. */
export const ProjectSettings = z.object({
  python: ProjectPython,
  limits: RunLimits.nullable(),
  /** Share of slots at equal priority: a project of weight 2 gets twice as many as one of weight 1. */
  weight: z.number().min(0.01).max(100).default(1),
  paused: z.boolean().default(false),
  /** For jobs without their own policy. */
  retry: RetryPolicy.nullable().default(null),
  noOverlap: z.boolean().default(false),
  /** How long a cancelled run may take to finish after the first INT; null: as configured (10 minutes). */
  cancelWaitSeconds: CancelWaitSeconds.nullable().default(null),
  /** `on_demand`: a node gets an egg before its first job; `at_once`: all that can run it get the active version. */
  distribution: z.enum(['on_demand', 'at_once']).default('on_demand'),
  /**
   * Jobs that name no version run this one; null: the latest. If the project lacks it, they wait. Always present in
   * responses; left out of a request, the pin stays as it is.
   */
  pinnedVersion: VersionName.nullable().optional(),
  /** What every order of a job of this project starts from (shared/job-defaults.ts). */
  defaults: JobDefaults.default(NO_DEFAULTS),
  /** By spider; they take precedence over those of the project. */
  spiderDefaults: z
    .record(z.string().min(1).max(200), JobDefaults)
    .refine((all) => Object.keys(all).length <= 2_000, 'At most 2,000 spiders can have defaults')
    .default({})
})
export type ProjectSettings = z.infer<typeof ProjectSettings>
/** For projects without settings of their own. */
export const DEFAULT_PROJECT_SETTINGS: ProjectSettings = ProjectSettings.parse({
  python: { kind: 'default' },
  limits: null,
  pinnedVersion: null
})

export const Project = z.object({
  name: AnyProjectName,
  /** The highest by version order. */
  latestVersion: AnyVersionName.nullable(),
  /** The version for jobs that name none: the pinned one, else the latest. null: there is none, so they wait. */
  activeVersion: AnyVersionName.nullable(),
  settings: ProjectSettings,
  /** Newest upload first. */
  versions: z.array(Version)
})
export type Project = z.infer<typeof Project>

const ByVersion = z.object({ project: ProjectName, version: VersionName })

export const projectsContract = {
  list: read('viewer', 'GET /projects').output(z.object({ projects: z.array(Project) })),
  get: read('viewer', 'GET /projects/{project}')
    .input(z.object({ project: ProjectName }))
    .output(Project),
  /**
   * Uploads an egg, or a zip of a folder with scrapy.cfg (the egg is then built). `project` and `version` default to
   * the archive's own metadata and to the current time (`20261119T181000`). `pinnedVersion`: the pin of the project,
   * which an upload leaves alone; if set to another version, jobs that name none do not run the uploaded one.
   */
  upload: write('deployer', 'POST /projects')
    .input(z.object({ file: z.file(), project: ProjectName.optional(), version: VersionName.optional() }))
    .output(Version.extend({ pinnedVersion: AnyVersionName.nullable() })),
  /** Sends a version to nodes now instead of before the first job that needs it. Streams the progress per node. */
  deploy: write('deployer', 'POST /projects/{project}/versions/{version}/deploy')
    .input(ByVersion.extend({ nodeIds: z.array(NodeId).max(10_000).optional() }))
    .output(eventIterator(Deployment)),
  /** Replaces the settings of a project. Runs that already started keep the old ones. */
  configure: write('deployer', 'PUT /projects/{project}/settings')
    .input(z.object({ project: ProjectName, settings: ProjectSettings }))
    .output(Project),
  setPaused: write('operator', 'POST /projects/{project}/paused')
    .input(z.object({ project: ProjectName, paused: z.boolean() }))
    .output(Project),
  /** Pins the active version, or rolls back to an older one; null: unpins, so the latest is active again. */
  pinVersion: write('deployer', 'POST /projects/{project}/pinned-version')
    .input(z.object({ project: ProjectName, version: VersionName.nullable() }))
    .output(Project),
  /** Refused for the pinned version. */
  deleteVersion: write('deployer', 'DELETE /projects/{project}/versions/{version}')
    .input(ByVersion)
    .output(z.object({ failedNodes: z.array(Deployment) })),
  deleteProject: write('deployer', 'DELETE /projects/{project}')
    .input(z.object({ project: ProjectName }))
    .output(z.object({ failedNodes: z.array(Deployment) }))
}
