import { Dialog } from '../../ui/dialog.tsx'
import { TextInput } from '@mantine/core'
import type { Group, NewGroup, User, UserId } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useFormOf } from '../../ui/fields/form-of-schema.ts'
import { FormFoot, SchemaForm } from '../../ui/fields/schema-form.tsx'
import { MultiSelect } from '../../ui/fields/select.tsx'
import { notifyDone } from '../../ui/notify.tsx'
import { GroupForm, type GroupTexts, startGroup } from './access-forms.ts'
import classes from './access.module.css'
import { RightsFields } from './rights-fields.tsx'
import { useReadAccess } from './use-access.ts'

interface GroupDialogProps {
  /** null: a new one. */
  group: Group | null
  users: readonly User[]
  onClose: () => void
}

/** A group of users, with their roles. */
export function GroupDialog({ group, users, onClose }: GroupDialogProps) {
  const { client } = useApi()
  const readAgain = useReadAccess()
  const form = useFormOf<GroupTexts, NewGroup>({
    schema: GroupForm,
    start: () => startGroup(group),
    save: async (wanted) => {
      if (group === null) await client.groups.create(wanted)
      else await client.groups.update({ id: group.id, ...withoutOthersChanges(wanted, group) })
      onClose()
      notifyDone(group === null ? `${wanted.name} was added.` : `${wanted.name} was changed.`)
      await readAgain()
    }
  })
  return (
    <Dialog opened onClose={onClose} title={group === null ? 'Add group' : `Edit ${group.name}`} size={520}>
      <SchemaForm form={form} className={classes.form}>
        <TextInput {...form.input('name')} label="Name" placeholder="Crawl team" maxLength={64} data-autofocus />
        <TextInput {...form.input('description')} label="Description" maxLength={500} />
        <MultiSelect
          label="Members"
          description="They have these roles in addition to their own."
          placeholder={form.values.members.length === 0 ? 'Choose users' : undefined}
          searchable
          nothingFoundMessage="No such user"
          data={users.map(({ id, name }) => ({ value: id, label: name }))}
          value={[...form.values.members]}
          error={form.error('members')}
          onChange={(ids) => form.change({ members: ids as UserId[] })}
        />
        <RightsFields form={form} label="In all projects" />
        <FormFoot form={form} submit={group === null ? 'Add group' : 'Save'} onCancel={onClose} />
      </SchemaForm>
    </Dialog>
  )
}

/** Members that another owner adds or removes meanwhile stay as they are. */
function withoutOthersChanges({ members, ...wanted }: NewGroup, before: Group) {
  return {
    ...wanted,
    addMembers: members.filter((id) => !before.members.includes(id)),
    removeMembers: before.members.filter((id) => !members.includes(id))
  }
}
