import { Button, Menu, TextInput } from '@mantine/core'
import { IconPencil, IconPlus, IconTrash, IconUsersGroup } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Group, User, NewGroup, UserId } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { MoreMenu } from '../../ui/more-menu.tsx'
import { Panel } from '../../ui/panel.tsx'
import { EmptyState, QueryState } from '../../ui/states.tsx'
import { AccessTable } from './access-table.tsx'
import { ConfirmAccessChange } from './confirm-access-change.tsx'
import classes from './access.module.css'
import { givenWords, lossOf, namesIn } from './group-words.ts'
import { READ_AGAIN, useReadAccess } from './use-access.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { useFormOf } from '../../ui/fields/form-of-schema.ts'
import { FormFoot, SchemaForm } from '../../ui/fields/schema-form.tsx'
import { MultiSelect } from '../../ui/fields/select.tsx'
import { notifyDone } from '../../ui/notify.tsx'
import { GroupForm, type GroupTexts, startGroup } from './access-forms.ts'
import { RightsFields } from './rights-fields.tsx'
import { texts } from '../../../shared/texts/ui/access.ts'

export function GroupsPanel() {
  const { query } = useApi()
  const groups = useQuery(query.groups.list.queryOptions(READ_AGAIN))
  const users = useQuery(query.users.list.queryOptions(READ_AGAIN)).data?.users ?? []
  const [isAdding, setAdding] = useState(false)
  const addButton = (
    <Button size="compact-xs" leftSection={<IconPlus size={13} />} onClick={() => setAdding(true)}>
      {texts.addGroup}
    </Button>
  )
  return (
    <Panel title={texts.groups} aside={groups.data !== undefined && groups.data.groups.length > 0 && addButton} flush>
      <QueryState query={groups} what={texts.theGroups} rows={2}>
        {(data) =>
          data.groups.length === 0 ? (
            <EmptyState icon={<IconUsersGroup size={28} stroke={1.4} />} title={texts.noGroups} action={addButton}>
              {texts.noGroupsHint}
            </EmptyState>
          ) : (
            <AccessTable label={texts.groups} columns={[texts.name, texts.roles, texts.members]}>
              {data.groups.map((group) => (
                <GroupRow key={group.id} group={group} groups={data.groups} users={users} />
              ))}
            </AccessTable>
          )
        }
      </QueryState>
      {isAdding && <GroupDialog group={null} users={users} onClose={() => setAdding(false)} />}
    </Panel>
  )
}

interface GroupRowProps {
  group: Group
  groups: readonly Group[]
  users: readonly User[]
}

function GroupRow({ group, groups, users }: GroupRowProps) {
  const [asking, setAsking] = useState<'edit' | 'remove' | null>(null)
  const members = users.filter(({ id }) => group.members.includes(id))
  const close = () => setAsking(null)
  return (
    <tr>
      <th scope="row">
        <strong>{group.name}</strong>
        {group.description !== '' && <div className="dim">{group.description}</div>}
      </th>
      <td data-label={texts.roles}>
        <ul>
          {givenWords(group).map((words) => (
            <li key={words}>{words}</li>
          ))}
          {givenWords(group).length === 0 && <li className="faint">{texts.none}</li>}
        </ul>
      </td>
      <td data-label={texts.members} title={members.map(({ name }) => name).join('\n')}>
        {members.length === 0 ? <span className="faint">{texts.none}</span> : namesIn(members)}
      </td>
      <td className={classes.acts}>
        <MoreMenu label={texts.moreActionsFor(group.name)} size={24}>
          <Menu.Item leftSection={<IconPencil size={14} />} onClick={() => setAsking('edit')}>
            {texts.editItem}
          </Menu.Item>
          <Menu.Item color="red" leftSection={<IconTrash size={14} />} onClick={() => setAsking('remove')}>
            {texts.removeItem}
          </Menu.Item>
        </MoreMenu>
        {asking === 'edit' && <GroupDialog group={group} users={users} onClose={close} />}
        {asking === 'remove' && <RemoveDialog group={group} groups={groups} users={users} onClose={close} />}
      </td>
    </tr>
  )
}

function RemoveDialog({ group, groups, users, onClose }: GroupRowProps & { onClose: () => void }) {
  const { client } = useApi()
  const { lockedOut, losing } = lossOf(group, users, groups)
  return (
    <ConfirmAccessChange
      title={texts.askRemove(group.name)}
      act={texts.remove}
      change={() => client.groups.remove({ id: group.id })}
      onClose={onClose}
    >
      {lockedOut.length > 0 && `${texts.lockedOutByRemoval(namesIn(lockedOut))} `}
      {losing.length > 0 && `${texts.loseRoles(losing.length, namesIn(losing), givenWords(group).join(', '))} `}
      {lockedOut.length + losing.length === 0 ? texts.noUserLosesARole : texts.usersStay}
    </ConfirmAccessChange>
  )
}

interface GroupDialogProps {
  group: Group | null
  users: readonly User[]
  onClose: () => void
}

function GroupDialog({ group, users, onClose }: GroupDialogProps) {
  const { client } = useApi()
  const readAgain = useReadAccess()
  const form = useFormOf<GroupTexts, NewGroup>({
    schema: GroupForm,
    start: () => startGroup(group),
    save: async (wanted) => {
      if (group === null) await client.groups.create(wanted)
      else await client.groups.update({ id: group.id, ...withoutOthersChanges(wanted, group) })
      onClose()
      notifyDone(group === null ? texts.added(wanted.name) : texts.changed(wanted.name))
      await readAgain()
    }
  })
  return (
    <Dialog opened onClose={onClose} title={group === null ? texts.addGroup : texts.editGroup(group.name)} size={520}>
      <SchemaForm form={form}>
        <TextInput
          {...form.input('name')}
          label={texts.name}
          placeholder={texts.groupNameExample}
          maxLength={64}
          data-autofocus
        />
        <TextInput {...form.input('description')} label={texts.description} maxLength={500} />
        <MultiSelect
          label={texts.members}
          description={texts.membersHint}
          placeholder={form.values.members.length === 0 ? texts.chooseUsers : undefined}
          searchable
          nothingFoundMessage={texts.noSuchUser}
          data={users.map(({ id, name }) => ({ value: id, label: name }))}
          value={[...form.values.members]}
          error={form.error('members')}
          onChange={(ids) => form.change({ members: ids as UserId[] })}
        />
        <RightsFields form={form} label={texts.inAllProjects} />
        <FormFoot form={form} submit={group === null ? texts.addGroup : texts.save} onCancel={onClose} />
      </SchemaForm>
    </Dialog>
  )
}

/** Keeps the membership changes that another owner made while the dialog was open. */
function withoutOthersChanges({ members, ...wanted }: NewGroup, before: Group) {
  return {
    ...wanted,
    addMembers: members.filter((id) => !before.members.includes(id)),
    removeMembers: before.members.filter((id) => !members.includes(id))
  }
}
