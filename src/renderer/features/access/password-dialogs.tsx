import { PasswordInput } from '@mantine/core'
import type { User } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { hasBrowserSession, openLogin } from '../../api/browser-session.ts'
import { Dialog, DialogText } from '../../ui/dialog.tsx'
import { useFormOf } from '../../ui/fields/form-of-schema.ts'
import { FormFoot, SchemaForm } from '../../ui/fields/schema-form.tsx'
import { notifyDone } from '../../ui/notify.tsx'
import { ChangePasswordForm, PASSWORD_HELP, SetPasswordForm } from './access-forms.ts'
import { useReadAccess } from './use-access.ts'
import { texts } from '../../../shared/texts/ui/access.ts'

/** When users change their own password, all their sessions end, so the browser goes to the login page. */
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
    <Dialog opened onClose={onClose} title={texts.changePassword} size={460}>
      <SchemaForm form={form}>
        <PasswordInput
          {...form.input('current')}
          label={texts.currentPassword}
          autoComplete="current-password"
          data-autofocus
        />
        <PasswordInput
          {...form.input('password')}
          label={texts.newPassword}
          description={PASSWORD_HELP}
          autoComplete="new-password"
        />
        <FormFoot form={form} submit={texts.changePassword} says={texts.changePasswordHint} onCancel={onClose} />
      </SchemaForm>
    </Dialog>
  )
}

export function SetPasswordDialog({ user: { id, name }, onClose }: { user: User; onClose: () => void }) {
  const { client } = useApi()
  const readAgain = useReadAccess()
  const form = useFormOf({
    schema: SetPasswordForm,
    start: () => ({ password: '' }),
    save: async ({ password }) => {
      await client.users.update({ id, password })
      onClose()
      notifyDone(texts.passwordWasSet(name))
      await readAgain()
    }
  })
  return (
    <Dialog opened onClose={onClose} title={texts.setPasswordFor(name)} size={460}>
      <SchemaForm form={form}>
        <DialogText>{texts.setPasswordHint(name)}</DialogText>
        <PasswordInput
          {...form.input('password')}
          label={texts.newPassword}
          description={PASSWORD_HELP}
          autoComplete="new-password"
          data-autofocus
        />
        <FormFoot form={form} submit={texts.setPassword} onCancel={onClose} />
      </SchemaForm>
    </Dialog>
  )
}
