import type { Database } from './database.ts'
import type {
  Deployment,
  NodeId,
  ProjectName,
  ProjectSettings,
  VersionName,
  LimitRule,
  SourceId,
  SourceSettings
} from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/storage.ts'
import type {
  StoredNode,
  StoredVersion,
  VersionChange,
  StoredLimits,
  StoredSource,
  VanishedNode
} from '../../model/records.ts'
import { checkSetting, type SettingKey, type SettingValue } from '../../model/settings.ts'
import type { ChangeLog } from './change-log.ts'
import { createTable, replaceRow, requireNextRevision } from './table.ts'

type DeploymentRow = Deployment & Pick<StoredVersion, 'project' | 'version'>

export function createFleet({ database, changes }: { database: Database; changes: ChangeLog }) {
  const nodes = createTable<StoredNode>(database, {
    name: 'nodes',
    order: 'added_at_ms, id',
    fields: `id name kind url username sealedPassword caCertificate slots tags:json mode scrapydVersion addedAtMs queueAhead
      giveUpAfterSeconds group clientCertificate sealedClientKey sealedProxyUrl sourceId logsKept tokenHash kubernetes:json`,
    columns: { group: 'group_name' }
  })
  const forgetNode = database.prepare<[string], { project: ProjectName }>(
    'DELETE FROM deployments WHERE node_id = ? RETURNING project'
  )
  const versions = createTable<Omit<StoredVersion, 'deployments'>>(database, {
    name: 'versions',
    key: 'project version',
    order: 'project, created_at_ms DESC, version DESC',
    fields: 'project version sha256 sizeBytes spiders:json createdAtMs'
  })
  const hasVersion = database.prepare<[string, string]>('SELECT 1 FROM versions WHERE project = ? AND version = ?')
  const deployments = createTable<DeploymentRow>(database, {
    name: 'deployments',
    key: 'project version node_id',
    order: 'project, version, node_id',
    fields: 'project version nodeId state error changedAtMs sha256'
  })
  // Delete the version first, and thereby its deployments: no node has the new egg yet, even under the same name.
  const deleteVersion = database.prepare<[string, string]>('DELETE FROM versions WHERE project = ? AND version = ?')
  const deleteDeployment = database.prepare<[string, string, string]>(
    'DELETE FROM deployments WHERE project = ? AND version = ? AND node_id = ?'
  )
  const projectSettings = createTable<{ project: ProjectName; settings: ProjectSettings }>(database, {
    name: 'project_settings',
    key: 'project',
    order: 'project',
    fields: 'project settings:json'
  })
  const setting = database.prepare<[string], string>('SELECT value FROM settings WHERE key = ?').pluck()
  const putSetting = database.prepare<[string, string]>(replaceRow('settings', ['key'], { key: '?', value: '?' }))

  function readSetting<Key extends SettingKey>(key: Key): SettingValue<Key> | null {
    const text = setting.get(key)
    return text === undefined ? null : checkSetting(key, JSON.parse(text))
  }

  function writeSetting<Key extends SettingKey>(key: Key, value: SettingValue<Key>): void {
    putSetting.run(key, JSON.stringify(checkSetting(key, value)))
  }

  return {
    listNodes: nodes.all,

    putNode(node: StoredNode): void {
      nodes.put(node)
      changes.add('node', node.id)
    },

    deleteNode(id: NodeId): void {
      for (const project of new Set(forgetNode.all(id).map((row) => row.project))) changes.add('project', project)
      if (nodes.remove(id)) changes.add('node', id)
    },

    listVersions(): StoredVersion[] {
      const key = (row: { project: ProjectName; version: VersionName }) => JSON.stringify([row.project, row.version])
      const byVersion = Map.groupBy(deployments.all(), key)
      return versions.all().map((row) => ({
        ...row,
        deployments: (byVersion.get(key(row)) ?? []).map(({ project: _p, version: _v, ...deployment }) => deployment)
      }))
    },

    putVersion(stored: StoredVersion): void {
      changeVersion({ kind: 'put', stored })
      changes.add('project', stored.project)
    },

    deleteVersion(project: ProjectName, version: VersionName): void {
      if (changeVersion({ kind: 'delete', project, version })) changes.add('project', project)
    },

    putDeployment(project: ProjectName, version: VersionName, deployment: Deployment): void {
      changeVersion({ kind: 'deploy', project, version, deployment })
      changes.add('project', project)
    },

    deleteDeployment(nodeId: NodeId, project: ProjectName, version: VersionName): void {
      if (changeVersion({ kind: 'undeploy', project, version, nodeId })) changes.add('project', project)
    },

    changeVersions(list: VersionChange[]): void {
      const changed = list.filter((change) => changeVersion(change))
      for (const project of new Set(changed.map(projectOf))) changes.add('project', project)
    },

    listProjectSettings(): Map<ProjectName, ProjectSettings> {
      return new Map(projectSettings.all().map(({ project, settings }) => [project, settings]))
    },

    putProjectSettings(project: ProjectName, settings: ProjectSettings): void {
      projectSettings.put({ project, settings })
      changes.add('project', project)
    },

    getSetting: readSetting,

    putSetting: writeSetting,

    keepSetting<Key extends SettingKey>(key: Key, value: SettingValue<Key>): SettingValue<Key> {
      const kept = readSetting(key)
      if (kept === null) writeSetting(key, value)
      return kept ?? value
    }
  }
  function changeVersion(change: VersionChange): boolean {
    switch (change.kind) {
      case 'put': {
        const { deployments: made, ...version } = change.stored
        deleteVersion.run(version.project, version.version)
        versions.put(version)
        for (const one of made) deployments.put({ project: version.project, version: version.version, ...one })
        return true
      }
      case 'delete':
        return deleteVersion.run(change.project, change.version).changes > 0
      case 'deploy': {
        const { project, version, deployment } = change
        if (hasVersion.get(project, version) === undefined) {
          throw new ScrapdeckError('VERSION_NOT_FOUND', sentence('storage.no_version_to_deploy', { project, version }))
        }
        deployments.put({ project, version, ...deployment })
        return true
      }
      case 'undeploy':
        return deleteDeployment.run(change.project, change.version, change.nodeId).changes > 0
    }
  }
}

function projectOf(change: VersionChange): ProjectName {
  return change.kind === 'put' ? change.stored.project : change.project
}

export function createLimits(database: Database) {
  const all = database.prepare<[], Omit<LimitRule, 'perNode'> & { perNode: number }>(
    'SELECT id, project, spider, tag, per_node AS "perNode", max FROM limit_rules ORDER BY position'
  )
  const revision = database.prepare<[], number>('SELECT revision FROM limit_revision').pluck()
  const setRevision = database.prepare<[number]>('UPDATE limit_revision SET revision = ?')
  const clear = database.prepare('DELETE FROM limit_rules')
  const insert = database.prepare(
    `INSERT INTO limit_rules (id, project, spider, tag, per_node, max) VALUES (:id, :project, :spider, :tag, :perNode, :max)`
  )

  return {
    getLimits: (): StoredLimits => ({
      revision: revision.get()!,
      rules: all.all().map((row) => ({ ...row, perNode: row.perNode === 1 }))
    }),

    putLimits(limits: StoredLimits): void {
      requireNextRevision(limits.revision, revision.get(), 'list of limits')
      setRevision.run(limits.revision)
      clear.run()
      for (const rule of limits.rules) insert.run({ ...rule, perNode: rule.perNode ? 1 : 0 })
    }
  }
}

interface SourceRow extends Omit<StoredSource, 'settings'> {
  settings: string
}

export function createSources(database: Database) {
  const all = database.prepare<[], SourceRow>(
    'SELECT revision, settings, sealed_password AS "sealedPassword" FROM discovery_sources ORDER BY position'
  )
  const revision = database.prepare<[string], number>('SELECT revision FROM discovery_sources WHERE id = ?').pluck()
  const put = database.prepare<SourceRow & { id: SourceId }>(
    `INSERT INTO discovery_sources (id, revision, settings, sealed_password) VALUES (:id, :revision, :settings, :sealedPassword)
     ON CONFLICT (id) DO UPDATE SET revision = :revision, settings = :settings, sealed_password = :sealedPassword`
  )
  const remove = database.prepare<[string]>('DELETE FROM discovery_sources WHERE id = ?')
  const vanished = createTable<VanishedNode>(database, {
    name: 'vanished_nodes',
    key: 'node_id',
    order: 'node_id',
    fields: 'nodeId sinceMs state'
  })

  return {
    listSources: (): StoredSource[] =>
      all.all().map((row) => ({ ...row, settings: JSON.parse(row.settings) as SourceSettings })),

    putSource(source: StoredSource): void {
      const { id } = source.settings
      requireNextRevision(source.revision, revision.get(id), 'source of nodes')
      put.run({ ...source, id, settings: JSON.stringify(source.settings) })
    },

    deleteSource: (id: SourceId): boolean => remove.run(id).changes > 0,

    listVanishedNodes: vanished.all,
    putVanishedNodes: (nodes: VanishedNode[]): void => nodes.forEach(vanished.put),
    deleteVanishedNodes: (nodeIds: NodeId[]): void => nodeIds.forEach(vanished.remove)
  }
}
