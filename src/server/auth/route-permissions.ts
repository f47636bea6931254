import { type Permission, type Permissions, permissionsOf } from '../../shared/permissions.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * `operation` means the permissions of the requested operation (engine/api/router/required-rights.ts). If this is
     * absent, only owners can use the route, which is the safe default. Not used for public routes and node endpoints.
     */
    needs?: Permissions | 'operation'
    /** Whether the caller needs the permission for all projects, because the response contains data of all projects. */
    isOfAll?: boolean
  }
}

export const forPermission = (name: Permission) => ({ config: { needs: permissionsOf([name]) } })

export const forPermissionInAll = (name: Permission) => ({ config: { ...forPermission(name).config, isOfAll: true } })

export const FOR_READERS = forPermission('read')

export const BY_OPERATION = { config: { needs: 'operation' as const } }
