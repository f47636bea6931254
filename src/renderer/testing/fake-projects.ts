import { implement } from '@orpc/server'
import { contract, type ProjectSettings } from '../../shared/contract/index.ts'
import { withSettingsChange } from '../../shared/job-defaults.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { aProjectName } from '../../shared/testing/ids.ts'
import { type FakeWorld, wait } from './fake-world.ts'

export function createFakeProjects(
  { nodes, projects, emit, projectOf, saveProject, addVersion, stepMs }: FakeWorld,
  {
    publishWaiting,
    environmentFor
  }: { publishWaiting(): void; environmentFor(project: string, settings: ProjectSettings): void }
) {
  const os = implement(contract)
  const removeProject = (name: string) => {
    projects.delete(aProjectName(name))
    emit({ kind: 'project_removed', name })
  }
  return {
    list: os.projects.list.handler(() => ({ projects: [...projects.values()] })),
    get: os.projects.get.handler(({ input }) => projectOf(input.project)),
    upload: os.projects.upload.handler(async ({ input }) => {
      await wait(stepMs / 2)
      if (!/\.(egg|zip)$/.test(input.file.name))
        throw new ScrapdeckError(
          'EGG_NOT_A_ZIP',
          `${input.file.name} is not a zip archive. Drop an .egg, or a folder with scrapy.cfg.`
        )
      const name = input.project ?? (input.file.name.split(/[-.]/)[0] as string)
      return addVersion(name, input.version ?? '20261121T010000', input.file.size)
    }),
    deploy: os.projects.deploy.handler(async function* ({ input }) {
      const sent = projectOf(input.project).versions.find(({ version }) => version === input.version)
      const sha256 = sent?.sha256 ?? null
      for (const node of nodes.values()) {
        if (input.nodeIds && !input.nodeIds.includes(node.id)) continue
        const at = () => ({ nodeId: node.id, sha256: null, changedAtMs: Date.now() })
        yield { ...at(), state: 'sending' as const, error: null }
        await wait(stepMs / 5)
        const deployment =
          node.health === 'down'
            ? { ...at(), state: 'failed' as const, error: 'The node did not answer within 5 s' }
            : { ...at(), state: 'present' as const, sha256, error: null }
        const project = projectOf(input.project)
        saveProject({
          ...project,
          versions: project.versions.map((each) =>
            each.version === input.version
              ? { ...each, deployments: [...each.deployments.filter(({ nodeId }) => nodeId !== node.id), deployment] }
              : each
          )
        })
        yield deployment
      }
    }),
    configure: os.projects.configure.handler(({ input }) => {
      const project = projectOf(input.project)
      const { pinnedVersion } = project.settings
      const saved = saveProject({ ...project, settings: { pinnedVersion, ...input.settings } })
      environmentFor(input.project, input.settings)
      return saved
    }),
    changeSettings: os.projects.changeSettings.handler(({ input }) => {
      const project = projectOf(input.project)
      const saved = saveProject({ ...project, settings: withSettingsChange(project.settings, input.settings) })
      if (input.settings.python !== undefined) environmentFor(input.project, saved.settings)
      return saved
    }),
    setPaused: os.projects.setPaused.handler(({ input }) => {
      const project = projectOf(input.project)
      const saved = saveProject({ ...project, settings: { ...project.settings, paused: input.paused } })
      publishWaiting()
      return saved
    }),
    pinVersion: os.projects.pinVersion.handler(({ input }) => {
      const project = projectOf(input.project)
      const activeVersion = input.version ?? project.latestVersion
      return saveProject({ ...project, activeVersion, settings: { ...project.settings, pinnedVersion: input.version } })
    }),
    deleteVersion: os.projects.deleteVersion.handler(({ input }) => {
      const project = projectOf(input.project)
      if (project.settings.pinnedVersion === input.version) {
        throw new ScrapdeckError('VERSION_PINNED', `${input.project} is pinned to version ${input.version}.`)
      }
      const versions = project.versions.filter(({ version }) => version !== input.version)
      if (versions.length > 0) {
        const latestVersion = versions[0]?.version ?? null
        const activeVersion = project.settings.pinnedVersion ?? latestVersion
        saveProject({ ...project, versions, latestVersion, activeVersion })
      } else removeProject(input.project)
      return { failedNodes: [] }
    }),
    deleteProject: os.projects.deleteProject.handler(({ input }) => {
      removeProject(projectOf(input.project).name)
      return { failedNodes: [] }
    })
  }
}
