import { type Permission, type Permissions, permissionsOf } from '../../shared/permissions.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The permissions that this route needs. `operation`: those of the requested operation
     * (engine/api/router/required-rights.ts). Absent: only owners may use it, so a route without this setting is safe.
     * Ignored for public routes and for the endpoints of nodes (request-gate.ts).
     */
    needs?: Permissions | 'operation'
    /** The response has data of all projects, so the permission must hold in all. */
    isOfAll?: boolean
  }
}

export const forPermission = (name: Permission) => ({ config: { needs: permissionsOf([name]) } })

/** For routes with data of all projects. */
export const forPermissionInAll = (name: Permission) => ({ config: { ...forPermission(name).config, isOfAll: true } })

/** Pages, files, and changes of only the caller's own session. */
export const FOR_READERS = forPermission('read')

/** The operation defines the permissions. */
export const BY_OPERATION = { config: { needs: 'operation' as const } }
