import type { Project, Version } from '../../shared/contract/index.ts'
import { versionOf } from '../../shared/version-of.ts'
import { nodeNames } from '../client/find.ts'
import { localTime, plural, table } from '../client/output.ts'
import type { ClientCommands } from '../client/session.ts'

export function addProjectCommands({ add }: ClientCommands): void {
  add(
    'projects',
    'List the projects with the version that jobs get (pinned, else the latest) and its spiders.'
  )(async ({ client, print }) => {
    print(await client.projects.list(), ({ projects }) =>
      table(
        ['project', 'version', 'latest', 'versions', 'state', 'spiders'],
        projects.map((project) => [
          project.name,
          project.activeVersion === null ? null : `${project.activeVersion}${isPinned(project) ? ' (pinned)' : ''}`,
          project.latestVersion,
          project.versions.length,
          project.settings.paused ? 'paused' : 'active',
          spidersOf(versionOf(project))
        ]),
        'No projects. Upload one: scrapdeck deploy'
      )
    )
  })

  add(
    'versions <project>',
    'List the versions of a project, newest first, with the nodes that have them.'
  )(async ({ client, flags, print }, [name = '']) => {
    const project = await client.projects.get({ project: name })
    const nodes = flags.json === true ? new Map<string, string>() : await nodeNames(client)
    print(project, ({ versions, latestVersion, activeVersion }) =>
      table(
        ['version', 'uploaded', 'size', 'spiders', 'nodes', 'note'],
        versions.map((version) => [
          version.version,
          localTime(version.createdAtMs),
          version.sizeBytes === null ? null : `${Math.ceil(version.sizeBytes / 1024)} KB`,
          version.spiders === null ? null : plural(version.spiders.length, 'spider'),
          describeDeployments(version, nodes),
          [
            version.version === activeVersion && isPinned(project) ? 'pinned' : '',
            version.version === latestVersion ? 'latest' : '',
            version.sha256 === null ? 'only seen on nodes, no egg to send' : '',
            version.orderWarning ?? ''
          ]
            .filter((note) => note !== '')
            .join('; ')
        ]),
        `${name} has no versions. Upload one: scrapdeck deploy -p ${name}`
      )
    )
  })
}

const isPinned = ({ settings }: Pick<Project, 'settings'>): boolean => settings.pinnedVersion != null

function spidersOf(version: Version | undefined): string | null {
  if (version === undefined) return null
  if (version.spiders !== null) return version.spiders.join(', ')
  const error = version.deployments.find((one) => one.state === 'failed')?.error
  // The last line of a traceback contains the error.
  return error == null ? 'not listed yet' : `not listed: ${error.trimEnd().split('\n').at(-1)}`
}

/** `eu-1, eu-2 (failed)`. A node that has the version is listed without a note. */
export function describeDeployments({ deployments }: Version, nodes: Map<string, string>): string {
  return deployments
    .map(({ nodeId, state, error }) => {
      const name = nodes.get(nodeId) ?? nodeId
      return state === 'present' ? name : `${name} (${state}${error === null ? '' : `: ${error}`})`
    })
    .join(', ')
}
