import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import { namesOf, type Permissions } from '../../../shared/permissions.ts'
import { mostRoleIn, nodeRoleOf, PROJECT_ROLES, ROLES } from '../../../shared/roles.ts'
import type { Access } from '../../access/access.ts'
import type { Rights } from '../../access/rights.ts'
import type { SecondFactors } from '../../access/second-factor/second-factors.ts'
import type { RouterContext } from './router-context.ts'
import type { Handlers } from './required-rights.ts'
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

/** Callers need no further permission for their own user and tokens. */
export const accessOperations = (
  access: Access,
  secondFactors: SecondFactors
): Pick<Handlers, 'users' | 'groups' | 'roles' | 'secondFactors' | 'tokens' | 'sessions'> => ({
  users: {
    me: ({
      context: {
        principal: { userId, name, role, rights, tokenId }
      }
    }) => ({
      userId,
      name,
      role,
      tokenId,
      ...describeRights(rights),
      groups: userId === null ? [] : access.groups.namesOf(userId)
    }),
    list: () => ({ users: access.listUsers().map((user) => secondFactors.describeUser(user)) }),
    create: async ({ input }) => ({
      user: secondFactors.describeUser(await access.createUser(input))
    }),
    update: async ({ input: { id, ...changes } }) => ({
      user: secondFactors.describeUser(await access.updateUser(id, changes))
    }),
    remove: async ({ input }) => ({ removed: await access.removeUser(input.id) }),
    changePassword: async ({ input, context }) => {
      await access.changeOwnPassword(context.principal, input.current, input.password)
      return { changed: true }
    }
  },
  groups: {
    list: () => ({ groups: access.groups.list() }),
    create: async ({ input }) => ({ group: await access.groups.create(input) }),
    update: async ({ input: { id, ...changes } }) => ({
      group: await access.groups.update(id, changes)
    }),
    remove: async ({ input }) => ({ removed: await access.groups.remove(input.id) })
  },
  roles: {
    list: () => ({ roles: access.roles.list() }),
    create: async ({ input }) => ({ role: await access.roles.create(input) }),
    update: async ({ input }) => ({ role: await access.roles.update(input) }),
    remove: async ({ input }) => ({ removed: await access.roles.remove(input.name) })
  },
  secondFactors: {
    get: ({ context }) => secondFactors.describe(context.principal, siteOf(context)),
    beginAuthenticator: ({ input, context }) => {
      const site = siteOf(context)
      return secondFactors.beginAuthenticator(context.principal, input.current, 'host' in site ? site.host : null)
    },
    confirmAuthenticator: async ({ input, context }) => {
      const recoveryCodes = await secondFactors.confirmAuthenticator(context.principal, input.code)
      await context.sessions?.endOthers()
      return { recoveryCodes }
    },
    removeAuthenticator: async ({ input, context }) => {
      const removed = await secondFactors.removeAuthenticator(context.principal, input.current)
      if (removed) await context.sessions?.endOthers()
      return { removed }
    },
    renewRecoveryCodes: async ({ input, context }) => ({
      recoveryCodes: await secondFactors.renewRecoveryCodes(context.principal, input.current)
    }),
    beginPasskey: async ({ input, context }) => ({
      options: { ...(await secondFactors.beginPasskey(context.principal, input.current, siteOf(context))) }
    }),
    addPasskey: async ({ input, context }) => ({
      passkey: await secondFactors.addPasskey(context.principal, input.name, input.credential)
    }),
    removePasskey: async ({ input, context }) => {
      const removed = await secondFactors.removePasskey(context.principal, input.id, input.current)
      if (removed) await context.sessions?.endOthers()
      return { removed }
    },
    reset: async ({ input }) => ({
      user: secondFactors.describeUser(await secondFactors.reset(input.id))
    })
  },
  tokens: {
    list: ({ context }) => ({ tokens: access.listTokens(context.principal) }),
    create: ({ input, context }) => access.createToken(context.principal, input),
    revoke: async ({ input, context }) => ({
      revoked: await access.revokeToken(context.principal, input.id)
    })
  },
  sessions: {
    list: ({ context }) => ({ sessions: context.sessions?.list() ?? [] }),
    revoke: async ({ input: { id }, context }) => {
      if ((await context.sessions?.end(id)) === true) return { revoked: true }
      throw new ScrapdeckError('SESSION_NOT_FOUND', sentence('api.no_session', { id }))
    }
  }
})

const siteOf = ({ site = { problem: sentence('api.passkeys_need_browser') } }: RouterContext) => site

export const signInOperations = (signIns: SignIns): Pick<Handlers, 'signIns'> => ({
  signIns: {
    get: ({ input, context }) => signIns.get(personIn(context), input.userCode),
    approve: ({ input, context }) => ({
      code: signIns.approve(personIn(context), input, context.sessions?.ownIsOpen ?? ALWAYS)
    }),
    deny: ({ input, context }) => {
      signIns.deny(personIn(context), input.userCode)
      return { denied: true }
    }
  }
})

/** The session of the desktop's own window never ends. */
const ALWAYS = () => true

/** Throws BROWSER_REQUIRED for a program, because the token of a new sign-in could outlive the program's own token. */
function personIn({ principal, isFromPage }: RouterContext): Principal {
  if (isFromPage === true && principal.tokenId === null) return principal
  throw new ScrapdeckError('BROWSER_REQUIRED', sentence('api.sign_in_on_page'))
}
