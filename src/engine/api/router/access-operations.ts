import { ScrapdeckError } from '../../../shared/errors.ts'
import { namesOf, type Permissions } from '../../../shared/permissions.ts'
import { mostRoleIn, nodeRoleOf, PROJECT_ROLES, ROLES } from '../../../shared/roles.ts'
import type { Access } from '../../access/access.ts'
import type { Rights } from '../../access/rights.ts'
import type { SecondFactors } from '../../access/second-factor/second-factors.ts'
import type { RouterContext } from './router-context.ts'
import type { implementWithRights } from './required-rights.ts'
import type { Principal } from '../../access/principal.ts'
import type { SignIns } from '../../access/sign-ins.ts'

function describeRights({ everywhere, inProjects, inNodeGroups }: Rights) {
  const each = <Words>(of: ReadonlyMap<string, Permissions>, words: (held: Permissions) => Words) =>
    Object.fromEntries([...of].map(([name, held]) => [name, words(held)]))
  return {
    permissions: {
      everywhere: everywhere === null ? null : namesOf(everywhere),
      projects: each(inProjects, namesOf),
      nodeGroups: each(inNodeGroups, namesOf)
    },
    everywhere: everywhere === null ? null : mostRoleIn(everywhere, ROLES),
    projects: each(inProjects, (held) => mostRoleIn(held, PROJECT_ROLES)),
    nodeGroups: each(inNodeGroups, (held) => nodeRoleOf(held))
  }
}

/** The operations of users, groups, roles and tokens. Each knows who asks: what is one's own needs no owner. */
export const accessOperations = (
  os: ReturnType<typeof implementWithRights>,
  access: Access,
  secondFactors: SecondFactors
) => ({
  users: {
    me: os.users.me.handler(
      ({
        context: {
          principal: { userId, name, role, rights, tokenId }
        }
      }) => ({
        ...{ userId, name, role, tokenId, ...describeRights(rights) },
        groups: userId === null ? [] : access.groups.namesOf(userId)
      })
    ),
    list: os.users.list.handler(() => ({ users: access.listUsers().map((user) => secondFactors.describeUser(user)) })),
    create: os.users.create.handler(async ({ input }) => ({
      user: secondFactors.describeUser(await access.createUser(input))
    })),
    update: os.users.update.handler(async ({ input: { id, ...changes } }) => ({
      user: secondFactors.describeUser(await access.updateUser(id, changes))
    })),
    remove: os.users.remove.handler(async ({ input }) => ({ removed: await access.removeUser(input.id) })),
    changePassword: os.users.changePassword.handler(async ({ input, context }) => {
      await access.changeOwnPassword(context.principal, input.current, input.password)
      return { changed: true as const }
    })
  },
  groups: {
    list: os.groups.list.handler(() => ({ groups: access.groups.list() })),
    create: os.groups.create.handler(async ({ input }) => ({ group: await access.groups.create(input) })),
    update: os.groups.update.handler(async ({ input: { id, ...changes } }) => ({
      group: await access.groups.update(id, changes)
    })),
    remove: os.groups.remove.handler(async ({ input }) => ({ removed: await access.groups.remove(input.id) }))
  },
  roles: {
    list: os.roles.list.handler(() => ({ roles: access.roles.list() })),
    create: os.roles.create.handler(async ({ input }) => ({ role: await access.roles.create(input) })),
    update: os.roles.update.handler(async ({ input }) => ({ role: await access.roles.update(input) })),
    remove: os.roles.remove.handler(async ({ input }) => ({ removed: await access.roles.remove(input.name) }))
  },
  secondFactors: {
    get: os.secondFactors.get.handler(({ context }) => secondFactors.describe(context.principal, siteOf(context))),
    beginAuthenticator: os.secondFactors.beginAuthenticator.handler(({ input, context }) => {
      const site = siteOf(context)
      return secondFactors.beginAuthenticator(context.principal, input.current, 'host' in site ? site.host : null)
    }),
    confirmAuthenticator: os.secondFactors.confirmAuthenticator.handler(async ({ input, context }) => {
      const recoveryCodes = await secondFactors.confirmAuthenticator(context.principal, input.code)
      await context.sessions?.endOthers()
      return { recoveryCodes }
    }),
    removeAuthenticator: os.secondFactors.removeAuthenticator.handler(async ({ input, context }) => {
      const removed = await secondFactors.removeAuthenticator(context.principal, input.current)
      if (removed) await context.sessions?.endOthers()
      return { removed }
    }),
    renewRecoveryCodes: os.secondFactors.renewRecoveryCodes.handler(async ({ input, context }) => ({
      recoveryCodes: await secondFactors.renewRecoveryCodes(context.principal, input.current)
    })),
    beginPasskey: os.secondFactors.beginPasskey.handler(async ({ input, context }) => ({
      options: { ...(await secondFactors.beginPasskey(context.principal, input.current, siteOf(context))) }
    })),
    addPasskey: os.secondFactors.addPasskey.handler(async ({ input, context }) => ({
      passkey: await secondFactors.addPasskey(context.principal, input.name, input.credential)
    })),
    removePasskey: os.secondFactors.removePasskey.handler(async ({ input, context }) => {
      const removed = await secondFactors.removePasskey(context.principal, input.id, input.current)
      if (removed) await context.sessions?.endOthers()
      return { removed }
    }),
    reset: os.secondFactors.reset.handler(async ({ input }) => ({
      user: secondFactors.describeUser(await secondFactors.reset(input.id))
    }))
  },
  tokens: {
    list: os.tokens.list.handler(({ context }) => ({ tokens: access.listTokens(context.principal) })),
    create: os.tokens.create.handler(({ input, context }) => access.createToken(context.principal, input)),
    revoke: os.tokens.revoke.handler(async ({ input, context }) => ({
      revoked: await access.revokeToken(context.principal, input.id)
    }))
  },
  sessions: {
    list: os.sessions.list.handler(({ context }) => ({ sessions: context.sessions?.list() ?? [] })),
    revoke: os.sessions.revoke.handler(async ({ input: { id }, context }) => {
      if ((await context.sessions?.end(id)) === true) return { revoked: true as const }
      throw new ScrapdeckError('SESSION_NOT_FOUND', `There is no session ${id}; it may have ended`)
    })
  }
})

const siteOf = ({ site = { problem: 'Passkeys need a browser: open the address of this Scrapdeck' } }: RouterContext) =>
  site

/** The operations of programs that people sign in. */
export const signInOperations = (os: ReturnType<typeof implementWithRights>, signIns: SignIns) => ({
  signIns: {
    get: os.signIns.get.handler(({ input, context }) => signIns.get(personIn(context), input.userCode)),
    approve: os.signIns.approve.handler(({ input, context }) => ({
      code: signIns.approve(personIn(context), input, context.sessions?.ownIsOpen ?? ALWAYS)
    })),
    deny: os.signIns.deny.handler(({ input, context }) => {
      signIns.deny(personIn(context), input.userCode)
      return { denied: true as const }
    })
  }
})

/** The desktop's own window has no session that could end. */
const ALWAYS = () => true

/** The user of a page. No program may sign in another one: a token could outlive itself that way. */
function personIn({ principal, isFromPage }: RouterContext): Principal {
  if (isFromPage === true && principal.tokenId === null) return principal
  throw new ScrapdeckError(
    'BROWSER_REQUIRED',
    'A program is signed in on a page of the UI, by a user who is logged in there. Open the address that it shows in a browser.'
  )
}
