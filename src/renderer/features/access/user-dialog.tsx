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
import { RightsFields } from './rights-fields.tsx'
import { useReadAccess } from './use-access.ts'
import { texts } from '../../../shared/texts/ui/access.ts'

export function UserDialog({ groups, onClose }: { groups: readonly Group[]; onClose: () => void }) {
  const { client } = useApi()
  const readAgain = useReadAccess()
  const form = useFormOf<UserTexts, NewUser>({
    schema: UserForm,
    start: startUser,
    save: async (user) => {
      await client.users.create(user)
      onClose()
      notifyDone(user.kind === 'service' ? texts.serviceAdded(user.name) : texts.added(user.name))
      await readAgain()
    }
  })
  const { kind } = form.values
  return (
    <Dialog opened onClose={onClose} title={texts.addUser} size={460}>
      <SchemaForm form={form}>
        <TextInput {...form.input('name')} label={texts.name} maxLength={64} {...CODE_INPUT} data-autofocus />
        <ChoiceField
          label={texts.kind}
          data={optionsOf({ person: texts.person, service: texts.service })}
          value={kind}
          onChange={(next) => form.change({ kind: next })}
          note={kind === 'person' ? texts.personHint : texts.serviceHint}
        />
        <RightsFields form={form} label={texts.role} />
        {groups.length > 0 && (
          <MultiSelect
            label={texts.groups}
            description={texts.userGroupsHint}
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
            label={texts.password}
            description={PASSWORD_HELP}
            autoComplete="new-password"
          />
        )}
        <FormFoot form={form} submit={texts.addUser} onCancel={onClose} />
      </SchemaForm>
    </Dialog>
  )
}
