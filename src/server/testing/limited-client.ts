import { createRouterClient } from '@orpc/server'
import { onTestFinished } from 'vitest'
import { OWNER, type Principal } from '../../engine/access/principal.ts'
import { givenRights, shownRole } from '../../engine/access/given-roles.ts'
import { buildEgg } from '../../engine/projects/egg-builder.ts'
import { openEngineWithFakeNode } from '../../engine/testing/engine-with-fake-node.ts'
import { permissionsOfRole, type ProjectRole } from '../../shared/roles.ts'
import { branded } from '../../shared/testing/ids.ts'

/** Opens an engine with the projects `shop` and `news`. `client` is an owner's. `limited` has only these roles. */
export async function openWithLimitedUser(projects: Readonly<Record<string, ProjectRole>>) {
  const opened = await openEngineWithFakeNode()
  onTestFinished(() => opened.remove())
  opened.node.spiders = null
  await opened.prepare('berlin')
  const egg = await buildEgg([
    { path: 'scrapy.cfg', bytes: Buffer.from('[settings]\ndefault = a.settings\n') },
    { path: 'a/settings.py', bytes: Buffer.from('') }
  ])
  const file = new File([egg as Uint8Array<ArrayBuffer>], 'a.egg')
  await opened.client.projects.upload({ file, project: 'news', version: '1' })
  const rights = givenRights({ role: null, projects }, permissionsOfRole)
  const principal: Principal = {
    ...OWNER,
    userId: branded('a'.repeat(32)),
    name: 'anna',
    role: shownRole([{ role: null, projects }], permissionsOfRole),
    rights
  }
  const context = { principal, source: 'api' as const }
  return { ...opened, principal, limited: createRouterClient(await opened.engine.router(), { context }) }
}
