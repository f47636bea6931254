import { PasswordInput } from '@mantine/core'
import type { User } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { hasBrowserSession, openLogin } from '../../api/browser-session.ts'
import { Dialog, DialogText } from '../../ui/dialog.tsx'
import { useFormOf } from '../../ui/fields/form-of-schema.ts'
import { FormFoot, SchemaForm } from '../../ui/fields/schema-form.tsx'
import { notifyDone } from '../../ui/notify.tsx'
import { ChangePasswordForm, PASSWORD_HELP, SetPasswordForm } from './access-forms.ts'
import classes from './access.module.css'
import { useReadAccess } from './use-access.ts'

/** One's own password. It ends one's sessions, so a browser goes to the login. */
export function ChangePasswordDialog({ onClose }: { onClose: () => void }) {
  const { client } = useApi()
  const form = useFormOf({
    schema: ChangePasswordForm,
    start: () => ({ current: '', password: '' }),
    save: async (passwords) => {
      await client.users.changePassword(passwords)
      if (hasBrowserSession()) return openLogin()
      onClose()
    }
  })
  return (
    <Dialog opened onClose={onClose} title="Change password" size={460}>
      <SchemaForm form={form} className={classes.form}>
        <PasswordInput
          {...form.input('current')}
          label="Current password"
          autoComplete="current-password"
          data-autofocus
        />
        <PasswordInput
          {...form.input('password')}
          label="New password"
          description={PASSWORD_HELP}
          autoComplete="new-password"
        />
        <FormFoot
          form={form}
          submit="Change password"
          says="You are logged out everywhere and log in again. Your tokens and passkeys keep working: revoke those that are not yours."
          onCancel={onClose}
        />
      </SchemaForm>
    </Dialog>
  )
}

/** Sets another user's password, for example after it was forgotten. */
export function SetPasswordDialog({ user: { id, name }, onClose }: { user: User; onClose: () => void }) {
  const { client } = useApi()
  const readAgain = useReadAccess()
  const form = useFormOf({
    schema: SetPasswordForm,
    start: () => ({ password: '' }),
    save: async ({ password }) => {
      await client.users.update({ id, password })
      onClose()
      notifyDone(`${name} has a new password.`)
      await readAgain()
    }
  })
  return (
    <Dialog opened onClose={onClose} title={`Set a password for ${name}`} size={460}>
      <SchemaForm form={form} className={classes.form}>
        <DialogText>
          All sessions of {name} end. Tokens and passkeys keep working. If another person may have them, revoke the
          tokens, and remove the passkeys with Reset sign-in.
        </DialogText>
        <PasswordInput
          {...form.input('password')}
          label="New password"
          description={PASSWORD_HELP}
          autoComplete="new-password"
          data-autofocus
        />
        <FormFoot form={form} submit="Set password" onCancel={onClose} />
      </SchemaForm>
    </Dialog>
  )
}
