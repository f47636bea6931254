import { Dialog } from '../../ui/dialog.tsx'
import { useQuery } from '@tanstack/react-query'
import { TagsInput, TextInput } from '@mantine/core'
import type { AccessToken, Me, NewAccessToken, User } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useFormOf } from '../../ui/fields/form-of-schema.ts'
import { optionsOf } from '../../ui/fields/choice-field.tsx'
import { Select } from '../../ui/fields/select.tsx'
import { FormFoot, SchemaForm } from '../../ui/fields/schema-form.tsx'
import {
  EXPIRIES,
  permissionsOfMe,
  permissionsOfRoles,
  roleFor,
  startToken,
  TokenForm,
  type TokenTexts
} from './access-forms.ts'
import { groupsOf } from './group-words.ts'
import { RoleSelect } from './role-select.tsx'
import { describeRole, rolesWithin } from './role-words.ts'
import { READ_AGAIN, useReadAccess, useRoles } from './use-access.ts'
import { texts } from '../../../shared/texts/ui/access.ts'

interface TokenDialogProps {
  me: Me
  /** The users for whom the caller can create a token. Empty unless the caller is an owner. */
  users: readonly User[]
  onClose: () => void
  onCreated: (created: { secret: string; token: AccessToken }) => void
}

export function TokenDialog({ me, users, onClose, onCreated }: TokenDialogProps) {
  const { client, query } = useApi()
  const projects = useQuery(query.projects.list.queryOptions()).data?.projects ?? []
  const nodes = useQuery(query.nodes.list.queryOptions()).data?.nodes ?? []
  const tags = [...new Set(nodes.flatMap((node) => node.tags))].toSorted()
  const hasNodeGroups = tags.length > 0
  const readAgain = useReadAccess()
  const roles = useRoles()
  const form = useFormOf<TokenTexts, NewAccessToken>({
    schema: TokenForm,
    start: startToken,
    save: async (wanted) => {
      const created = await client.tokens.create(wanted)
      onClose()
      onCreated(created)
      await readAgain()
    }
  })
  const { userId, role } = form.values
  const { data: listed } = useQuery(query.groups.list.queryOptions({ ...READ_AGAIN, enabled: users.length > 0 }))
  const groups = listed?.groups ?? []
  const others = users.filter(({ id }) => id !== me.userId)
  const user = others.find(({ id }) => id === userId)
  const rolesOf = (of: User | undefined) =>
    rolesWithin(
      roles,
      of === undefined ? permissionsOfMe(me) : permissionsOfRoles([of, ...groupsOf(of, groups)], roles)
    )
  return (
    <Dialog opened onClose={onClose} title={texts.createToken} size={460}>
      <SchemaForm form={form}>
        <TextInput
          {...form.input('name')}
          label={texts.name}
          placeholder={texts.tokenNameExample}
          description={texts.tokenNameHint}
          maxLength={100}
          data-autofocus
        />
        {others.length > 0 && (
          <Select
            {...form.input('userId')}
            label={texts.user}
            allowDeselect={false}
            searchable={others.length > 10}
            data={[
              { value: '', label: texts.you(me.name) },
              ...others.map(({ id, name }) => ({ value: id, label: name }))
            ]}
            onChange={(next) => {
              const chosen = others.find(({ id }) => id === next)
              form.change({ userId: next ?? '', role: roleFor(chosen, role, rolesOf(chosen)) })
            }}
          />
        )}
        <RoleSelect
          {...form.input('role')}
          roles={rolesOf(user)}
          label={texts.role}
          description={`${describeRole(roles, role)}.`}
        />
        <TagsInput
          label={texts.projects}
          description={texts.tokenProjectsHint}
          data={projects.map(({ name }) => name)}
          value={form.values.projects}
          error={form.error('projects')}
          onChange={(names) => form.change({ projects: names })}
        />
        {hasNodeGroups && (
          <TagsInput
            label={texts.nodeGroups}
            description={texts.tokenNodeGroupsHint}
            data={tags}
            value={form.values.nodeGroups}
            error={form.error('nodeGroups')}
            onChange={(names) => form.change({ nodeGroups: names })}
          />
        )}
        <Select {...form.input('expiry')} label={texts.expiresAfter} allowDeselect={false} data={optionsOf(EXPIRIES)} />
        <FormFoot form={form} submit={texts.createToken} onCancel={onClose} />
      </SchemaForm>
    </Dialog>
  )
}
