import { type Command, InvalidArgumentError } from 'commander'
import type { AccessRole, NewRole } from '../../shared/contract/index.ts'
import { type Permission, PERMISSION_TEXTS, PERMISSIONS } from '../../shared/permissions.ts'
import { CommandEnd, EXIT_CODES } from '../client/exit-codes.ts'
import { table } from '../client/output.ts'
import type { ClientCommands } from '../client/session.ts'

interface RoleFlags {
  permission?: Permission[]
  description?: string
}

export function addRoleCommands({ group }: ClientCommands): void {
  const add = group('roles', 'Roles as sets of permissions: list, show, add, set, remove.')

  add('list', 'List the built-in roles and the custom ones.', undefined, { isDefault: true })(
    async ({ client, print }) => {
      print(await client.roles.list(), ({ roles }) => listed(roles))
    }
  )

  add(
    'show <name>',
    'Show what a role may do, one permission per line; "owner" has all.'
  )(async ({ client, print }, [name = '']) => {
    const { roles } = await client.roles.list()
    const role = roles.find((one) => one.name === name)
    if (role === undefined) {
      const names = roles.map((one) => one.name).join(', ')
      throw new CommandEnd(EXIT_CODES.notFound, `There is no role ${name}. There are ${names}.`)
    }
    print({ role }, () =>
      table(
        ['permission', 'given in', 'what it allows'],
        role.permissions.map((one) => {
          const { scope, text } = PERMISSION_TEXTS[one]
          return [one, scope === 'project' ? 'any project' : 'all projects', text]
        }),
        ''
      )
    )
  })

  add('add <name>', 'Add a role with these permissions; it may always read.', (command) =>
    withPermissions(command).option('--description <text>', 'what it is for')
  )(async ({ client, print }, [name = ''], { permission = [], description = '' }: RoleFlags) => {
    const answer = await client.roles.create({ name, description, permissions: permission })
    print(answer, ({ role }) => `Added ${describe(role)}`)
  })

  add('set <name>', 'Change a custom role for everybody who has it.', (command) =>
    withPermissions(command).option('--description <text>', 'what it is for')
  )(async ({ client, print }, [name = ''], { permission, description }: RoleFlags) => {
    if (permission === undefined && description === undefined) {
      throw new CommandEnd(EXIT_CODES.usage, 'Nothing to change: give --permission or --description.')
    }
    const changes: Partial<NewRole> = { description, permissions: permission }
    const answer = await client.roles.update({ name, ...changes })
    print(answer, ({ role }) => describe(role))
  })

  add(
    'remove <name>',
    'Remove an unused role.'
  )(async ({ client, print }, [name = '']) => {
    print(await client.roles.remove({ name }), () => `Removed ${name}`)
  })
}

const withPermissions = (command: Command): Command =>
  command.option('--permission <name>', 'one of its permissions, all of them; may be given several times', permissionOf)

function permissionOf(text: string, before: Permission[] = []): Permission[] {
  const name = PERMISSIONS.find((one) => one === text)
  if (name !== undefined) return [...before, name]
  throw new InvalidArgumentError(`There are ${PERMISSIONS.join(', ')}.`)
}

const describe = ({ name, permissions }: AccessRole): string => `${name}: ${permissions.join(', ')}`

function listed(roles: AccessRole[]): string {
  return table(
    ['name', 'kind', 'given in', 'permissions'],
    roles.map(({ name, isBuiltIn, isForProjects, permissions }) => [
      ...[name, isBuiltIn ? 'built-in' : 'custom', isForProjects ? 'any project' : 'all projects'],
      permissions.length === PERMISSIONS.length ? 'all' : permissions.join(', ')
    ]),
    ''
  )
}
