import { z } from 'zod'
import { OWNER_PERMISSIONS, namesOf, PERMISSIONS } from '../permissions.ts'
import { ROLES } from '../roles.ts'
import { ShownName } from './ids.ts'
import { read, write } from './operation.ts'

const KNOWN = z.enum(PERMISSIONS)
const NOT_GIVEN: readonly string[] = namesOf(OWNER_PERMISSIONS)
const BUILT_IN: readonly string[] = [...ROLES, 'none']

/**
 * A name that can be used in configurations (`crawl-team = shop keeper in shop`) and command lines (`shop=shop
 * keeper`).
 */
export const RoleName = ShownName.max(64)
  .regex(
    /^[\p{L}\p{N}](?:[\p{L}\p{N} ._-]*[\p{L}\p{N}])?$/u,
    'A role name has letters, digits, spaces, ".", "_" and "-"'
  )
  .refine((name) => name === name.normalize('NFKC').toLowerCase(), { error: 'Write the name in plain small letters' })
  .refine((name) => !/ in | of nodes(?: |$)|\s{2}/.test(name), {
    error: 'A role name cannot contain " in ", " of nodes" or several spaces together'
  })
  .refine((name) => !BUILT_IN.includes(name), {
    error: 'A built-in role has this name, or it would be mistaken for one'
  })

/** Every role includes `read`, even if the request does not name it. */
const GivenPermissions = z
  .array(KNOWN)
  .max(PERMISSIONS.length)
  .refine((names) => !names.some((name) => NOT_GIVEN.includes(name)), {
    error: `Only owners can have ${NOT_GIVEN.join(', ')}: its holder can become one`
  })

const Description = z.string().max(500).default('')

export const AccessRole = z.object({
  name: z.string(),
  description: z.string(),
  permissions: z.array(KNOWN),
  isBuiltIn: z.boolean(),
  isForProjects: z.boolean()
})
export type AccessRole = z.infer<typeof AccessRole>

export const NewRole = z.object({ name: RoleName, description: Description, permissions: GivenPermissions })
export type NewRole = z.infer<typeof NewRole>

export const rolesContract = {
  list: read('read', 'GET /roles', 'caller').output(z.object({ roles: z.array(AccessRole) })),

  create: write('users.change', 'POST /roles', 'service')
    .input(NewRole)
    .output(z.object({ role: AccessRole })),

  /** Applies from the next request of each user with the role. Absent fields stay unchanged. */
  update: write('users.change', 'PATCH /roles/{name}', 'service')
    .input(
      z.object({
        name: z.string().max(64),
        description: Description.unwrap().optional(),
        permissions: GivenPermissions.optional()
      })
    )
    .output(z.object({ role: AccessRole })),

  /** Rejects while the role is in use. */
  remove: write('users.change', 'DELETE /roles/{name}', 'service')
    .input(z.object({ name: z.string().max(64) }))
    .output(z.object({ removed: z.boolean() }))
}
