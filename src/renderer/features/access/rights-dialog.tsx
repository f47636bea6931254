import { Modal } from '@mantine/core'
import type { User, UserChanges } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useFormOf } from '../../ui/fields/form-of-schema.ts'
import { FormFoot, SchemaForm } from '../../ui/fields/schema-form.tsx'
import { notifyUndo } from '../../ui/notify.tsx'
import { rightsIn, RightsForm, type RightsTexts } from './access-forms.ts'
import classes from './access.module.css'
import { ProjectRolesField } from './project-roles-field.tsx'
import { RoleSelect } from './role-select.tsx'
import { describeRole } from './role-words.ts'
import { useReadAccess, useRoles } from './use-access.ts'

/** The roles of a user, in all projects and in single ones. */
export function RightsDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const { client } = useApi()
  const readAgain = useReadAccess()
  const roles = useRoles()
  const change = async (changes: UserChanges) => {
    await client.users.update({ ...changes, id: user.id })
    await readAgain()
  }
  const form = useFormOf<RightsTexts, Pick<User, 'role' | 'projects'>>({
    schema: RightsForm,
    start: () => rightsIn(user),
    save: async (rights) => {
      await change(rights)
      onClose()
      const { role, projects } = user
      notifyUndo(`The roles of ${user.name} were changed.`, () => change({ role, projects }), `user ${user.id}`)
    }
  })
  const { role, projects } = form.values
  return (
    <Modal opened onClose={onClose} title={`Roles of ${user.name}`} size={480}>
      <SchemaForm form={form} className={classes.form}>
        <RoleSelect
          {...form.input('role')}
          roles={roles}
          hasNone
          label="In all projects"
          description={`${describeRole(roles, role)}.`}
        />
        <ProjectRolesField
          value={projects}
          error={form.error('projects')}
          onChange={(rows) => form.change({ projects: rows })}
        />
        <FormFoot form={form} submit="Save" onCancel={onClose} />
      </SchemaForm>
    </Modal>
  )
}
