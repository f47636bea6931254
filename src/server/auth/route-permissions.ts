import { type Permission, type Permissions, permissionsOf } from '../../shared/permissions.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The permissions that this route needs; `operation`: those of the operation that the request names
     * (engine/api/router/required-rights.ts). Absent: what only owners have, so that a route whose author forgot it is
     * open to owners alone. Ignored for public routes and for the endpoints of nodes (request-gate.ts).
     */
    needs?: Permissions | 'operation'
    /** It answers with what is of all projects: the permission must hold in all. */
    isOfAll?: boolean
  }
}

/** The options of a route that requires this permission. */
export const forPermission = (name: Permission) => ({ config: { needs: permissionsOf([name]) } })

/** The same, for what is of all projects. */
export const forPermissionInAll = (name: Permission) => ({ config: { ...forPermission(name).config, isOfAll: true } })

/** Pages, files, and what changes only the caller's own session. */
export const FOR_READERS = forPermission('read')

/** The operation that answers says what it needs. */
export const BY_OPERATION = { config: { needs: 'operation' as const } }
