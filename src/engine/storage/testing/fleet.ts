import { describe, expect, test } from 'vitest'
import { aNodeId, aProjectName, aVersionName } from '../../../shared/testing/ids.ts'
import { aStoredNode, aVersion } from '../../testing/builders.ts'
import type { Story } from './story.ts'
import { asSealedText } from '../../runtime/secret-box.ts'

const SHOP = aProjectName('shop')
const V1 = aVersionName('1')

export function describeFleet(story: Story): void {
  describe('the fleet', () => {
    test('nodes are kept, changed and forgotten', async () => {
      const first = aStoredNode({
        tags: ['eu'],
        username: 'u',
        sealedPassword: asSealedText('sealed'),
        caCertificate: 'PEM'
      })
      const second = aStoredNode({ slots: null, scrapydVersion: null })
      await story.store.putNode(first)
      await story.store.putNode(second)
      await story.store.putNode({ ...first, mode: 'cordoned' })
      expect(await story.store.listNodes()).toEqual([{ ...first, mode: 'cordoned' }, second])
      await story.store.deleteNode(first.id)
      await story.store.deleteNode(aNodeId('not-there'))
      expect(await story.store.listNodes()).toEqual([second])
    })

    test('versions come back by project, newest first, with their deployments', async () => {
      const deployment = {
        nodeId: aNodeId('node-1'),
        state: 'present' as const,
        sha256: 'a'.repeat(64),
        error: null,
        changedAtMs: 5
      }
      const old = aVersion({ version: 'b' })
      const fresh = aVersion({
        version: 'a',
        sha256: null,
        sizeBytes: null,
        spiders: null,
        deployments: [deployment]
      })
      const other = aVersion({ project: 'books' })
      for (const version of [old, fresh, other]) await story.store.putVersion(version)
      expect(await story.store.listVersions()).toEqual([other, fresh, old])
      await story.store.deleteVersion(SHOP, aVersionName('b'))
      expect(await story.store.listVersions()).toEqual([other, fresh])
    })

    test('an upload under an old name is on no node yet', async () => {
      const version = aVersion()
      await story.store.putVersion(version)
      await story.store.putDeployment(SHOP, V1, {
        nodeId: aNodeId('node-1'),
        state: 'present',
        sha256: 'a'.repeat(64),
        error: null,
        changedAtMs: 5
      })
      await story.store.putVersion({ ...version, sha256: 'b'.repeat(64) })
      expect((await story.store.listVersions()).map(({ deployments }) => deployments)).toEqual([[]])
    })

    test('a deployment is replaced, deleted, and forgotten with its node', async () => {
      await story.store.putVersion(aVersion())
      const on = (nodeId: string) => ({
        nodeId: aNodeId(nodeId),
        state: 'sending' as const,
        sha256: null,
        error: null,
        changedAtMs: 5
      })
      for (const nodeId of ['n1', 'n2', 'n3']) await story.store.putDeployment(SHOP, V1, on(nodeId))
      await story.store.putDeployment(SHOP, V1, { ...on('n1'), state: 'failed', sha256: null, error: 'no room' })
      await story.store.deleteDeployment(aNodeId('n2'), SHOP, V1)
      await story.store.deleteNode(aNodeId('n3'))
      expect((await story.store.listVersions())[0]?.deployments).toEqual([
        { ...on('n1'), state: 'failed', sha256: null, error: 'no room' }
      ])
    })

    test('a version that is gone cannot be deployed', async () => {
      const deployment = {
        nodeId: aNodeId('n1'),
        state: 'present' as const,
        sha256: 'a'.repeat(64),
        error: null,
        changedAtMs: 5
      }
      await expect(story.store.putDeployment(SHOP, V1, deployment)).rejects.toMatchObject({
        code: 'VERSION_NOT_FOUND'
      })
    })

    test('many changes of versions are one entry for each project, and all of them or none', async () => {
      const on = (nodeId: string) => ({
        nodeId: aNodeId(nodeId),
        state: 'present' as const,
        sha256: null,
        error: null,
        changedAtMs: 5
      })
      const [one, two, other] = [aVersion(), aVersion({ version: '2' }), aVersion({ project: 'books' })]
      await story.store.changeVersions([
        ...[one, two, other].map((stored) => ({ kind: 'put' as const, stored })),
        { kind: 'deploy', project: SHOP, version: V1, deployment: on('n1') },
        { kind: 'deploy', project: SHOP, version: V1, deployment: on('n2') }
      ])
      const before = await story.store.changeCursor()
      await story.store.changeVersions([
        { kind: 'undeploy', project: SHOP, version: V1, nodeId: aNodeId('n1') },
        { kind: 'delete', project: SHOP, version: two.version },
        { kind: 'delete', project: other.project, version: aVersionName('not-there') }
      ])
      expect(await story.store.listVersions()).toEqual([other, { ...one, deployments: [on('n2')] }])
      const { changes } = await story.store.listChanges(before, 10)
      expect(changes.map(({ noun, id }) => [noun, id])).toEqual([['project', 'shop']])
      const refused = story.store.changeVersions([
        { kind: 'delete', project: SHOP, version: V1 },
        { kind: 'deploy', project: SHOP, version: two.version, deployment: on('n1') }
      ])
      await expect(refused).rejects.toMatchObject({ code: 'VERSION_NOT_FOUND' })
      expect(await story.store.listVersions()).toEqual([other, { ...one, deployments: [on('n2')] }])
    })

    test('settings are kept by their key', async () => {
      expect(await story.store.getSetting('paused')).toBeNull()
      await story.store.putSetting('paused', true)
      await story.store.putSetting('paused', false)
      expect(await story.store.getSetting('paused')).toBe(false)
      await expect(story.store.putSetting('paused', 'yes' as never)).rejects.toThrow()
    })

    test('keeps the first value of a setting that is chosen once, despite concurrent callers', async () => {
      const chosen = await Promise.all(['a', 'b', 'c'].map((value) => story.store.keepSetting('blobs.owner', value)))
      expect(new Set(chosen).size).toBe(1)
      expect(await story.store.getSetting('blobs.owner')).toBe(chosen[0])
      expect(await story.store.keepSetting('blobs.owner', 'd')).toBe(chosen[0])
    })
  })
}
