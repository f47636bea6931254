import { Option } from 'commander'
import type { Group, NewGroup, User } from '../../shared/contract/index.ts'
import type { Client } from '../client/connect.ts'
import { CommandEnd, EXIT_CODES } from '../client/exit-codes.ts'
import { table } from '../client/output.ts'
import type { ClientCommands } from '../client/session.ts'
import { describeRights, findIn, type RightsFlags, rightsIn, several, withRights } from './rights-flags.ts'

interface GroupFlags extends RightsFlags {
  name?: string
  description?: string
  member?: string[]
  addMember?: string[]
  removeMember?: string[]
}

export function addGroupCommands({ group }: ClientCommands): void {
  const add = group('groups', 'Groups of users, who have the roles of their groups too: list, add, set, remove.')

  add('list', 'List the groups and their members.', undefined, { isDefault: true })(async ({ client, print }) => {
    const [{ groups }, { users }] = await Promise.all([client.groups.list(), client.users.list()])
    print({ groups }, () => listed(groups, users))
  })

  add('add <name>', 'Add a group of users.', (command) =>
    withRights(command, { whose: 'each member' })
      .option('--description <text>', 'what the group is for')
      .option('--member <user>', 'a member; may be given several times', several)
  )(async ({ client, print }, [name = ''], { description, member = [], ...given }: GroupFlags) => {
    const members = await idsOf(client, member)
    const answer = await client.groups.create({ name, description, members, ...rightsIn(given) })
    print(answer, ({ group: made }) => `Added ${made.name}: ${summaryOf(made)}`)
  })

  add('set <group>', 'Change a group. What is not given stays as it is.', (command) =>
    withRights(command, { whose: 'each member', isChange: true })
      .option('--name <name>', 'another name')
      .option('--description <text>', 'what the group is for')
      .option('--member <user>', 'the members, all of them; "" for none', several)
      .addOption(new Option('--add-member <user>', 'one more; may be given several times').argParser(several))
      .addOption(new Option('--remove-member <user>', 'one less; may be given several times').argParser(several))
  )(
    async (
      { client, print },
      [text = ''],
      { name, description, member, addMember, removeMember, ...given }: GroupFlags
    ) => {
      const rights = rightsIn(given)
      const texts = { ...(name !== undefined && { name }), ...(description !== undefined && { description }) }
      const people = [member, addMember, removeMember]
      if (Object.keys({ ...rights, ...texts }).length === 0 && people.every((one) => one === undefined)) {
        throw new CommandEnd(
          EXIT_CODES.usage,
          'Nothing to change: give --role, --project, --node-group, --member, --add-member, --remove-member, --name or --description.'
        )
      }
      const { id } = await findGroup(client, text)
      const [members, addMembers, removeMembers] = await Promise.all(
        people.map((names) => (names === undefined ? undefined : idsOf(client, names)))
      )
      const answer = await client.groups.update({ id, ...texts, ...rights, members, addMembers, removeMembers })
      print(answer, ({ group: changed }) => `${changed.name}: ${summaryOf(changed)}`)
    }
  )

  add(
    'remove <group>',
    'Remove a group. Its members stay, without what they may do through it.'
  )(async ({ client, print }, [text = '']) => {
    const { id, name, members } = await findGroup(client, text)
    const answer = await client.groups.remove({ id })
    print(answer, () => `Removed ${name}, which had ${countOf(members)}`)
  })
}

const countOf = (members: readonly unknown[]): string => `${members.length} member${members.length === 1 ? '' : 's'}`

const summaryOf = (group: Group): string => `${describeRights(group) || 'no role'}; ${countOf(group.members)}`

export async function findGroup(client: Client, text: string): Promise<Group> {
  return findIn((await client.groups.list()).groups, text, 'group')
}

async function idsOf(client: Client, names: readonly string[]): Promise<NewGroup['members']> {
  const wanted = names.filter((name) => name !== '')
  if (wanted.length === 0) return []
  const { users } = await client.users.list()
  return wanted.map((name) => findIn(users, name, 'user').id)
}

function listed(groups: Group[], users: User[]): string {
  const names = new Map(users.map(({ id, name }) => [id, name]))
  return table(
    ['name', 'role', 'members', 'description', 'id'],
    groups.map((group) => [
      ...[group.name, describeRights(group) || 'none', membersText(group, names)],
      ...[group.description, group.id]
    ]),
    'No groups. Add one: scrapdeck groups add NAME --role operator --member USER'
  )
}

const SHOWN_MAX = 5

function membersText({ members }: Group, names: ReadonlyMap<string, string>): string {
  if (members.length === 0) return 'none'
  const shown = members.map((id) => names.get(id) ?? id).toSorted()
  const more = shown.length > SHOWN_MAX ? ` and ${shown.length - SHOWN_MAX} more` : ''
  return `${shown.slice(0, SHOWN_MAX).join(', ')}${more}`
}
