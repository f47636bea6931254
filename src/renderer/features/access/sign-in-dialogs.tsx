import { Button, Group, PasswordInput, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useApi } from '../../api/api.tsx'
import { CopyButton, CopyText } from '../../ui/copy-button.tsx'
import { Dialog, DialogFoot, DialogText } from '../../ui/dialog.tsx'
import { CODE_INPUT } from '../../ui/fields/code-input.ts'
import { useFormOf } from '../../ui/fields/form-of-schema.ts'
import { FormFoot, SchemaForm } from '../../ui/fields/schema-form.tsx'
import { notifyDone } from '../../ui/notify.tsx'
import { CodeForm, CurrentPasswordForm, PasskeyForm } from './access-forms.ts'
import classes from './access.module.css'
import { makePasskey } from './make-passkey.ts'
import { useReadAccess } from './use-access.ts'

interface SetUp {
  secret: string
  uri: string
  qrCode: string
}

/** Password, then QR code and a first code, then the recovery codes. */
export function SetUpAuthenticatorDialog({ onClose }: { onClose: () => void }) {
  const { client } = useApi()
  const [setUp, setSetUp] = useState<SetUp | null>(null)
  const [codes, setCodes] = useState<string[] | null>(null)
  if (codes !== null) return <RecoveryCodesDialog codes={codes} onClose={onClose} />
  if (setUp !== null) return <ConfirmCodeDialog setUp={setUp} onDone={setCodes} onClose={onClose} />
  return (
    <ConfirmPasswordDialog
      title="Set up an authenticator app"
      act="Continue"
      onAct={async (current) => setSetUp(await client.secondFactors.beginAuthenticator({ current }))}
      onClose={onClose}
    >
      You log in with your password and a code that an app on your phone shows, such as Aegis, Google Authenticator or
      1Password. Programs that send your password stop working: give them a token.
    </ConfirmPasswordDialog>
  )
}

function ConfirmCodeDialog({
  setUp: { secret, uri, qrCode },
  onDone,
  onClose
}: {
  setUp: SetUp
  onDone: (codes: string[]) => void
  onClose: () => void
}) {
  const { client } = useApi()
  const readAgain = useReadAccess()
  const form = useFormOf({
    schema: CodeForm,
    start: () => ({ code: '' }),
    save: async ({ code }) => {
      const { recoveryCodes } = await client.secondFactors.confirmAuthenticator({ code })
      onDone(recoveryCodes)
      await readAgain()
    }
  })
  return (
    <Dialog opened onClose={onClose} title="Set up an authenticator app" size={460} closeOnClickOutside={false}>
      <SchemaForm form={form} className={classes.form}>
        <DialogText>Scan this with the app, or tap it on the phone itself. To type it, use the key below.</DialogText>
        <a href={uri} className={`${classes.qr} box`}>
          <img src={`data:image/svg+xml,${encodeURIComponent(qrCode)}`} alt="QR code for the authenticator app" />
        </a>
        <Group gap={10} wrap="nowrap" className={classes.secret}>
          <CopyText value={secret} what="the key" />
        </Group>
        <TextInput
          {...form.input('code')}
          {...CODE_INPUT}
          label="Code that the app shows"
          inputMode="numeric"
          autoComplete="one-time-code"
          maxLength={7}
          data-autofocus
        />
        <FormFoot form={form} submit="Turn on" says="Your other sessions end." onCancel={onClose} />
      </SchemaForm>
    </Dialog>
  )
}

/** Shown once: afterwards only their hashes exist. */
export function RecoveryCodesDialog({ codes, onClose }: { codes: string[]; onClose: () => void }) {
  return (
    <Dialog
      opened
      onClose={onClose}
      title="Save your recovery codes"
      size={460}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <DialogText>
        If you lose the phone, each of them replaces a code of the app, once. Keep them where you keep your passwords:
        they are not shown again.
      </DialogText>
      <Group align="flex-start" gap={10} wrap="nowrap" className={classes.codes}>
        <ul className="mono" aria-label="Recovery codes">
          {codes.map((code) => (
            <li key={code}>{code}</li>
          ))}
        </ul>
        <CopyButton value={codes.join('\n')} what="the recovery codes" />
      </Group>
      <DialogFoot>
        <Button variant="filled" onClick={onClose}>
          I have saved them
        </Button>
      </DialogFoot>
    </Dialog>
  )
}

/** The engine asks again for the password before it changes how a user logs in. */
export function ConfirmPasswordDialog({
  title,
  act,
  says,
  onAct,
  onClose,
  children
}: {
  title: string
  act: string
  says?: string
  onAct: (current: string) => Promise<unknown>
  onClose: () => void
  children: ReactNode
}) {
  const form = useFormOf({
    schema: CurrentPasswordForm,
    start: () => ({ current: '' }),
    save: ({ current }) => onAct(current)
  })
  return (
    <Dialog opened onClose={onClose} title={title} size={460}>
      <SchemaForm form={form} className={classes.form}>
        <DialogText>{children}</DialogText>
        <PasswordInput
          {...form.input('current')}
          label="Current password"
          autoComplete="current-password"
          data-autofocus
        />
        <FormFoot form={form} submit={act} {...(says !== undefined && { says })} onCancel={onClose} />
      </SchemaForm>
    </Dialog>
  )
}

export function AddPasskeyDialog({ onClose }: { onClose: () => void }) {
  const { client } = useApi()
  const readAgain = useReadAccess()
  const form = useFormOf({
    schema: PasskeyForm,
    start: () => ({ name: '', current: '' }),
    save: async ({ name, current }) => {
      const { options } = await client.secondFactors.beginPasskey({ current })
      const credential = await makePasskey(options)
      await client.secondFactors.addPasskey({ name, credential })
      onClose()
      notifyDone(`You can log in with the passkey ${name}.`)
      await readAgain()
    }
  })
  return (
    <Dialog opened onClose={onClose} title="Add a passkey" size={460}>
      <SchemaForm form={form} className={classes.form}>
        <DialogText>
          The browser keeps it in this device, a security key or a password manager, and asks for your finger, face or
          PIN. You log in with it alone, without password and code.
        </DialogText>
        <TextInput
          {...form.input('name')}
          label="Name"
          description="To tell it from others, such as laptop or YubiKey."
          maxLength={100}
          data-autofocus
        />
        <PasswordInput {...form.input('current')} label="Current password" autoComplete="current-password" />
        <FormFoot form={form} submit="Add passkey" onCancel={onClose} />
      </SchemaForm>
    </Dialog>
  )
}
