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
import { texts } from '../../../shared/texts/ui/access.ts'

interface SetUp {
  secret: string
  uri: string
  qrCode: string
}

export function SetUpAuthenticatorDialog({ onClose }: { onClose: () => void }) {
  const { client } = useApi()
  const [setUp, setSetUp] = useState<SetUp | null>(null)
  const [codes, setCodes] = useState<string[] | null>(null)
  if (codes !== null) return <RecoveryCodesDialog codes={codes} onClose={onClose} />
  if (setUp !== null) return <ConfirmCodeDialog setUp={setUp} onDone={setCodes} onClose={onClose} />
  return (
    <ConfirmPasswordDialog
      title={texts.setUpAuthenticator}
      act={texts.continue}
      onAct={async (current) => setSetUp(await client.secondFactors.beginAuthenticator({ current }))}
      onClose={onClose}
    >
      {texts.setUpAuthenticatorHint}
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
    <Dialog opened onClose={onClose} title={texts.setUpAuthenticator} size={460} closeOnClickOutside={false}>
      <SchemaForm form={form}>
        <DialogText>{texts.scanHint}</DialogText>
        <a href={uri} className={`${classes.qr} box`}>
          <img src={`data:image/svg+xml,${encodeURIComponent(qrCode)}`} alt={texts.qrCode} />
        </a>
        <Group gap={10} wrap="nowrap" className="well">
          <CopyText value={secret} what={texts.theKey} />
        </Group>
        <TextInput
          {...form.input('code')}
          {...CODE_INPUT}
          label={texts.codeOfApp}
          inputMode="numeric"
          autoComplete="one-time-code"
          maxLength={7}
          data-autofocus
        />
        <FormFoot form={form} submit={texts.turnOn} says={texts.yourOtherSessionsEnd} onCancel={onClose} />
      </SchemaForm>
    </Dialog>
  )
}

/** Shows the codes once: the engine stores only their hashes. */
export function RecoveryCodesDialog({ codes, onClose }: { codes: string[]; onClose: () => void }) {
  return (
    <Dialog
      opened
      onClose={onClose}
      title={texts.saveRecoveryCodes}
      size={460}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <DialogText>{texts.recoveryCodesHint}</DialogText>
      <Group align="flex-start" gap={10} wrap="nowrap" mt={12} mb={14} className={`${classes.codes} well`}>
        <ul className="mono" aria-label={texts.recoveryCodes}>
          {codes.map((code) => (
            <li key={code}>{code}</li>
          ))}
        </ul>
        <CopyButton value={codes.join('\n')} what={texts.theRecoveryCodes} />
      </Group>
      <DialogFoot>
        <Button variant="filled" onClick={onClose}>
          {texts.codesSaved}
        </Button>
      </DialogFoot>
    </Dialog>
  )
}

/** The engine requires the password for changes to a user's login methods. */
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
      <SchemaForm form={form}>
        <DialogText>{children}</DialogText>
        <PasswordInput
          {...form.input('current')}
          label={texts.currentPassword}
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
      notifyDone(texts.passkeyAdded(name))
      await readAgain()
    }
  })
  return (
    <Dialog opened onClose={onClose} title={texts.addPasskeyTitle} size={460}>
      <SchemaForm form={form}>
        <DialogText>{texts.passkeyHint}</DialogText>
        <TextInput
          {...form.input('name')}
          label={texts.name}
          description={texts.passkeyNameHint}
          maxLength={100}
          data-autofocus
        />
        <PasswordInput {...form.input('current')} label={texts.currentPassword} autoComplete="current-password" />
        <FormFoot form={form} submit={texts.addPasskey} onCancel={onClose} />
      </SchemaForm>
    </Dialog>
  )
}
