import { Dialog } from '../../ui/dialog.tsx'
import { PasswordInput, TextInput } from '@mantine/core'
import type { Group, GroupId, NewUser } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { ChoiceField, optionsOf } from '../../ui/fields/choice-field.tsx'
import { CODE_INPUT } from '../../ui/fields/code-input.ts'
import { useFormOf } from '../../ui/fields/form-of-schema.ts'
import { FormFoot, SchemaForm } from '../../ui/fields/schema-form.tsx'
import { MultiSelect } from '../../ui/fields/select.tsx'
import { notifyDone } from '../../ui/notify.tsx'
import { PASSWORD_HELP, startUser, UserForm, type UserTexts } from './access-forms.ts'
import classes from './access.module.css'
import { RightsFields } from './rights-fields.tsx'
import { useReadAccess } from './use-access.ts'

/** A person with a password, or a program that gets tokens. */
export function UserDialog({ groups, onClose }: { groups: readonly Group[]; onClose: () => void }) {
  const { client } = useApi()
  const readAgain = useReadAccess()
  const form = useFormOf<UserTexts, NewUser>({
    schema: UserForm,
    start: startUser,
    save: async (user) => {
      await client.users.create(user)
      onClose()
      notifyDone(
        user.kind === 'service' ? `${user.name} was added. Create a token for it next.` : `${user.name} was added.`
      )
      await readAgain()
    }
  })
  const { kind } = form.values
  return (
    <Dialog opened onClose={onClose} title="Add user" size={460}>
      <SchemaForm form={form} className={classes.form}>
        <TextInput {...form.input('name')} label="Name" maxLength={64} {...CODE_INPUT} data-autofocus />
        <ChoiceField
          label="Kind"
          data={optionsOf({ person: 'Person', service: 'Service' })}
          value={kind}
          onChange={(next) => form.change({ kind: next })}
          note={
            kind === 'person'
              ? 'Logs in with name and password, and may have tokens.'
              : 'A program. It has tokens and no password.'
          }
        />
        <RightsFields form={form} label="Role" />
        {groups.length > 0 && (
          <MultiSelect
            label="Groups"
            description="The user has their roles, too."
            data={groups.map(({ id, name }) => ({ value: id, label: name }))}
            searchable={groups.length > 10}
            value={form.values.groups}
            error={form.error('groups')}
            onChange={(ids) => form.change({ groups: ids as GroupId[] })}
          />
        )}
        {kind === 'person' && (
          <PasswordInput
            {...form.input('password')}
            label="Password"
            description={PASSWORD_HELP}
            autoComplete="new-password"
          />
        )}
        <FormFoot form={form} submit="Add user" onCancel={onClose} />
      </SchemaForm>
    </Dialog>
  )
}
