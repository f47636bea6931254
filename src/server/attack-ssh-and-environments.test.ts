import { createRouterClient } from '@orpc/server'
import { expect, it, onTestFinished } from 'vitest'
import { rightsOf } from '../engine/access/rights.ts'
import { OWNER, type Principal } from '../engine/access/principal.ts'
import { openEngineWithFakeNode } from '../engine/testing/engine-with-fake-node.ts'
import { branded } from '../shared/testing/ids.ts'
import { parseNodeUrl } from '../engine/nodes/scrapyd/node-url.ts'

const who = (projects: Record<string, 'viewer' | 'operator' | 'deployer'>, role: Principal['role']): Principal => ({
  ...{ ...OWNER, userId: branded('a'.repeat(32)), name: 'anna', role, rights: rightsOf(null, projects) }
})

it('a deployer of one project neither rebuilds nor removes a Python that no project uses', async () => {
  const opened = await openEngineWithFakeNode()
  onTestFinished(() => opened.remove())
  const { narrowToSeen } = await import('../engine/router/subjects.ts')
  const asking = {
    principal: who({ shop: 'deployer' }, 'deployer'),
    role: 'deployer' as const,
    what: 'environments.remove'
  }
  const reads = {
    store: {} as never,
    environments: {
      list: () =>
        [
          { id: 'main', projects: [] },
          { id: 'ab12', projects: [] }
        ] as never
    }
  }
  for (const id of ['main', 'ab12'])
    await expect(narrowToSeen({ id }, { id: 'environment' }, asking, reads), id).rejects.toThrow()
})

it.each([
  'ssh://0xa9fea9fe/http://10.0.0.1',
  'ssh://2852039166/http://10.0.0.1',
  'ssh://169.254.43518/http://x',
  'ssh://b/http://2852039166/',
  'ssh://b/http://0xa9.0xfe.0xa9.0xfe/',
  'ssh://b/http://[::ffff:a9fe:a9fe]/',
  'ssh://b/http://metadata.google.internal/',
  'ssh://b/http://169.254.169.254.nip.io/',
  'ssh://b/http://169.254.169.254./',
  'ssh://-oProxyCommand=x/http://10.0.0.1',
  'ssh://a@-oProxyCommand=x/http://10.0.0.1',
  'ssh://-l@b/http://10.0.0.1',
  'ssh://%h/http://10.0.0.1',
  'ssh://b%0a/http://10.0.0.1',
  'ssh://b\n/http://10.0.0.1',
  'ssh://[::1%25eth0]/http://10.0.0.1',
  'ssh://[fe80::1]/http://10.0.0.1',
  'ssh://[::ffff:169.254.169.254]/http://10.0.0.1',
  'ssh://u:p@b/http://10.0.0.1',
  'ssh://b/ssh://c/http://x'
])('%s', (url) => {
  let said: string
  try {
    said = `ACCEPTED ${parseNodeUrl(url).url}`
  } catch (error) {
    said = (error as Error).message.slice(0, 90)
  }
  console.log(JSON.stringify(url), '->', said)
})
