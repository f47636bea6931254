import { Dialog } from '../../ui/dialog.tsx'
import { useState } from 'react'
import type { User, UserChanges } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useFormOf } from '../../ui/fields/form-of-schema.ts'
import { FormFoot, SchemaForm } from '../../ui/fields/schema-form.tsx'
import { notifyUndo } from '../../ui/notify.tsx'
import { type GivenRights, rightsForm, rightsIn, type RightsTexts } from './access-forms.ts'
import classes from './access.module.css'
import { RightsFields } from './rights-fields.tsx'
import { useReadAccess } from './use-access.ts'

interface RightsDialogProps {
  user: User
  /** The user is in a group that has a role, and so needs none of its own. */
  isInGroup: boolean
  onClose: () => void
}

/** The own roles of a user, in all projects, in single ones and in node groups. */
export function RightsDialog({ user, isInGroup, onClose }: RightsDialogProps) {
  const { client } = useApi()
  const readAgain = useReadAccess()
  const change = async (changes: UserChanges) => {
    await client.users.update({ ...changes, id: user.id })
    await readAgain()
  }
  const [schema] = useState(() => rightsForm({ mayHaveNone: isInGroup }))
  const form = useFormOf<RightsTexts, GivenRights>({
    schema,
    start: () => rightsIn(user),
    save: async (rights) => {
      await change(rights)
      onClose()
      const { role, projects, nodeGroups } = user
      const back = () => change({ role, projects, nodeGroups })
      notifyUndo(`The roles of ${user.name} were changed.`, back, `user ${user.id}`)
    }
  })
  return (
    <Dialog opened onClose={onClose} title={`Roles of ${user.name}`} size={480}>
      <SchemaForm form={form} className={classes.form}>
        <RightsFields form={form} label="In all projects" />
        <FormFoot form={form} submit="Save" onCancel={onClose} />
      </SchemaForm>
    </Dialog>
  )
}
