import type { Role } from '../../shared/roles.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The least role that this route needs; `operation`: that of the operation which it turns out to be
     * (engine/router/required-role.ts). Absent: an owner's, so that a route whose author forgot it is open to nobody
     * else. It does not matter for what is open to all, and for the door of nodes (request-gate.ts).
     */
    role?: Role | 'operation'
    /** It answers with what is of all projects: the role must hold in all. */
    isOfAll?: boolean
  }
}

/** The options of a route: whoever has this role may use it. */
export const forRole = (role: Role | 'operation') => ({ config: { role } })

/** The same, for what is of all projects. */
export const forRoleInAll = (role: Role) => ({ config: { role, isOfAll: true } })

/** Pages, files, and what changes only the caller's own session. */
export const FOR_VIEWERS = forRole('viewer')

/** The operation that answers says which role it needs. */
export const BY_OPERATION = forRole('operation')
