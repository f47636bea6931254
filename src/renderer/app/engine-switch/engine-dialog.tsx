import { Dialog } from '../../ui/dialog.tsx'
import { Button, Checkbox, Group, Input, PasswordInput, SegmentedControl, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { z } from 'zod'
import {
  ENGINE_COLOURS,
  EngineCredentials,
  EngineSettings,
  RemoteEngine,
  SeenCertificate
} from '../../../shared/desktop/contract.ts'
import { LOCAL_ENGINE } from '../../../shared/wire.ts'
import { desktopApp } from '../../api/desktop.ts'
import { engineOfPage } from '../../api/wire.ts'
import { openEngineDialog, useRemoteEngines } from '../../state/remote-engines.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { type Fields, useFormOf } from '../../ui/fields/form-of-schema.ts'
import { FormFoot, SchemaForm } from '../../ui/fields/schema-form.tsx'
import { notifyDone } from '../../ui/notify.tsx'
import { formatInstant } from '../../ui/time.tsx'
import classes from './engine-switch.module.css'
import { COLOURS } from './engine-switch.tsx'
import { useSwitchEngine } from './use-switch-engine.ts'
import { texts } from '../../../shared/texts/ui/app.ts'

interface EngineTexts extends z.input<typeof EngineSettings> {
  kind: RemoteEngine['signsInWith']
  token: string
  username: string
  password: string
  /** Whether to sign in with the browser again, which replaces the current credentials. */
  again: boolean
  /** Whether to sign in by entering a code in another browser, for engines behind an SSH host. */
  withCode: boolean
}

/** With `browser` or `code`, saving starts a sign-in. */
type Chosen = EngineCredentials | 'browser' | 'code' | null

type Waiting = 'browser' | { page: string; userCode: string }

const isBehindSsh = (url: string): boolean => /^ssh:/i.test(url.trim())

/** `isOptional`: the current credentials stay unless the user enters others. */
const formSchema = (isOptional: boolean) =>
  z
    .object({
      ...EngineSettings.shape,
      kind: RemoteEngine.shape.signsInWith,
      token: z.string(),
      username: z.string(),
      password: z.string(),
      again: z.boolean(),
      withCode: z.boolean()
    })
    .transform(({ kind, token, username, password, again, withCode, ...settings }, context) => {
      const choose = (credentials: Chosen) => ({ ...settings, credentials })
      if (kind === 'browser' && isOptional && !again) return choose(null)
      if (kind === 'browser') return choose(withCode && isBehindSsh(settings.url) ? 'code' : 'browser')
      const isEmpty = kind === 'token' ? token.trim() === '' : password === ''
      if (isEmpty && isOptional) return choose(null)
      const read = EngineCredentials.safeParse(kind === 'token' ? { kind, token } : { kind, username, password })
      if (read.success) return choose(read.data)
      for (const { path } of read.error.issues) context.addIssue({ code: 'custom', path, message: texts.required })
      return z.NEVER
    })

const certificateOf = (error: unknown): SeenCertificate | null =>
  SeenCertificate.safeParse((Object(error) as { data?: { certificate?: unknown } }).data?.certificate).data ?? null

export function EngineDialogs() {
  const dialog = useRemoteEngines((state) => state.dialog)
  if (dialog === null) return null
  return <EngineDialog key={dialog === 'add' ? 'add' : dialog.id} engine={dialog === 'add' ? null : dialog} />
}

function EngineDialog({ engine }: { engine: RemoteEngine | null }) {
  const close = () => openEngineDialog(null)
  const switchTo = useSwitchEngine()
  const [schema] = useState(() => formSchema(engine !== null))
  const [removes, setRemoves] = useState(false)
  const [seen, setSeen] = useState<SeenCertificate | null>(null)
  const [trusted, setTrusted] = useState<string | null>(null)
  const [waitsFor, setWaitsFor] = useState<Waiting | null>(null)
  /** Closing the dialog aborts this signal and stops waiting for the browser. */
  const waiting = useRef<AbortController | null>(null)
  useEffect(() => () => waiting.current?.abort(), [])
  async function signIn({ name, url }: Pick<EngineSettings, 'name' | 'url'>, how: 'browser' | 'code') {
    const { signal } = (waiting.current = new AbortController())
    try {
      const ticket = await getTicket({ name, url, trusted }, { how, signal, onWait: setWaitsFor })
      return { kind: 'browser' as const, ticket }
    } finally {
      setWaitsFor(null)
    }
  }
  const form = useFormOf<EngineTexts, z.output<ReturnType<typeof formSchema>>>({
    schema,
    start: () => startOf(engine),
    async save({ credentials: chosen, ...settings }) {
      try {
        const credentials = chosen === 'browser' || chosen === 'code' ? await signIn(settings, chosen) : chosen
        if (engine !== null) {
          await desktopApp().engines.update({ ...settings, id: engine.id, credentials, trusted })
          close()
          return
        }
        const added = await desktopApp().engines.add({ ...settings, credentials: credentials!, trusted })
        close()
        notifyDone(texts.engineAdded(added.name))
        await switchTo(added.id)
      } catch (error) {
        const certificate = certificateOf(error)
        setTrusted(null)
        setSeen(certificate)
        if (certificate === null) throw error
      }
    }
  })
  if (removes && engine !== null) return <RemoveDialog engine={engine} onClose={() => setRemoves(false)} />
  const isOverSsh = isBehindSsh(form.values.url)
  const { kind } = form.values
  const signsIn = kind === 'browser' && (engine === null || form.values.again)
  const isPlain = /^http:/i.test(form.values.url) && !/^http:\/\/(localhost|127\.|\[::1\])/i.test(form.values.url)
  return (
    <Dialog opened onClose={close} title={engine === null ? texts.addEngine : texts.editNamed(engine.name)} size={520}>
      <SchemaForm form={form}>
        <TextInput {...form.input('name')} label={texts.name} placeholder={texts.engineNameExample} data-autofocus />
        <TextInput
          {...form.input('url')}
          label={texts.address}
          placeholder="https://deck.example.org"
          description={isOverSsh ? texts.sshAddressHint : isPlain ? texts.plainAddressHint : undefined}
        />
        <SegmentedControl
          aria-label={texts.logInWith}
          data={[
            { value: 'browser', label: texts.browser },
            { value: 'token', label: texts.token },
            { value: 'password', label: texts.userNameAndPassword }
          ]}
          value={kind}
          onChange={(chosen) => form.change({ kind: chosen as EngineTexts['kind'] })}
        />
        {kind === 'browser' ? (
          <SignInHelp form={form} engine={engine} isOverSsh={isOverSsh} waitsFor={waitsFor} />
        ) : kind === 'token' ? (
          <PasswordInput
            {...form.input('token')}
            label={texts.token}
            description={engine === null ? texts.tokenHint : UNCHANGED}
            autoComplete="off"
          />
        ) : (
          <>
            <TextInput {...form.input('username')} label={texts.userName} autoComplete="off" />
            <PasswordInput
              {...form.input('password')}
              label={texts.password}
              description={engine === null ? undefined : UNCHANGED}
              autoComplete="off"
            />
          </>
        )}
        <Input.Wrapper label={texts.colour} description={texts.colourHint} labelElement="div">
          <Group align="stretch" gap={6} wrap="nowrap" mt={6} role="radiogroup" aria-label={texts.colour}>
            {ENGINE_COLOURS.map((colour) => (
              <button
                key={colour}
                type="button"
                role="radio"
                aria-label={colour}
                aria-checked={form.values.colour === colour}
                data-on={form.values.colour === colour || undefined}
                style={{ background: COLOURS[colour] }}
                className={`${classes.colour} ${classes.swatch} fixed`}
                onClick={() => form.change({ colour })}
              />
            ))}
          </Group>
        </Input.Wrapper>
        <Checkbox {...form.input('readOnly', 'checkbox')} label={texts.openReadOnly} description={texts.readOnlyHint} />
        {seen !== null && (
          <Certificate
            seen={seen}
            pinned={engine?.pinned ?? null}
            isTrusted={trusted === seen.fingerprint}
            onTrust={(yes) => setTrusted(yes ? seen.fingerprint : null)}
          />
        )}
        <FormFoot
          form={form}
          submit={signsIn ? texts.logIn : engine === null ? texts.addEngine : texts.save}
          isDisabled={seen !== null && trusted === null}
          onCancel={close}
        >
          {engine !== null && (
            <Button variant="subtle" color="red" onClick={() => setRemoves(true)}>
              {texts.removeItem}
            </Button>
          )}
        </FormFoot>
      </SchemaForm>
    </Dialog>
  )
}

const UNCHANGED = texts.keepCredentialHint

const startOf = (engine: RemoteEngine | null): EngineTexts => ({
  name: engine?.name ?? '',
  url: engine?.url ?? '',
  colour: engine?.colour ?? 'blue',
  readOnly: engine?.readOnly ?? false,
  kind: engine?.signsInWith ?? 'browser',
  token: '',
  username: (engine?.signsInWith === 'password' && engine.username) || '',
  password: '',
  withCode: false,
  again: engine !== null && (engine.signsInWith !== 'browser' || engine.problem?.code === 'UNAUTHORIZED')
})

/** Resolves when the user allows the sign-in, in this computer's browser or in the one where they entered the code. */
async function getTicket(
  to: { name: string; url: string; trusted: string | null },
  options: { how: 'browser' | 'code'; signal: AbortSignal; onWait: (waitsFor: Waiting) => void }
): Promise<string> {
  const { how, signal, onWait } = options
  const { engines } = desktopApp()
  if (how === 'browser') {
    onWait('browser')
    return (await engines.signIn(to, { signal })).ticket
  }
  for await (const step of await engines.signInWithCode(to, { signal })) {
    if (step.is === 'signedIn') return step.ticket
    onWait(step)
  }
  throw new Error('The sign-in ended without an answer')
}

interface SignInHelpProps {
  form: Fields<EngineTexts>
  engine: RemoteEngine | null
  isOverSsh: boolean
  waitsFor: Waiting | null
}

function SignInHelp({ form, engine, isOverSsh, waitsFor }: SignInHelpProps) {
  if (waitsFor === 'browser') {
    return (
      <Stack gap={8} className="dim" role="status">
        {texts.continueInBrowser}
      </Stack>
    )
  }
  if (waitsFor !== null) {
    return (
      <Stack gap={8} className="dim" role="status">
        <span>{texts.enterCode(<code>{waitsFor.page}</code>)}</span>
        <code className={classes.userCode}>{waitsFor.userCode}</code>
      </Stack>
    )
  }
  const isKept = engine?.signsInWith === 'browser'
  return (
    <Stack gap={8} className="dim">
      {!isOverSsh
        ? texts.signInWithBrowserHint
        : form.values.withCode
          ? texts.signInWithCodeHint
          : texts.signInThroughSshHint}
      {isOverSsh && (
        <Checkbox {...form.input('withCode', 'checkbox')} label={texts.useCode} description={texts.useCodeHint} />
      )}
      {isKept && <Checkbox {...form.input('again', 'checkbox')} label={texts.logInAsAnotherUser(engine.username)} />}
    </Stack>
  )
}

interface CertificateProps {
  seen: SeenCertificate
  pinned: string | null
  isTrusted: boolean
  onTrust: (yes: boolean) => void
}

const FINGERPRINT_COMMAND = ['openssl', 'x509', '-noout', '-fingerprint', '-sha256', '-in', 'cert.pem'].join(' ')

/** Trust on first use: the user compares the fingerprint shown here. */
function Certificate({ seen, pinned, isTrusted, onTrust }: CertificateProps) {
  const isChanged = pinned !== null && pinned !== seen.fingerprint
  return (
    <Stack gap={6} className={`${classes.certificate} box`} data-changed={isChanged || undefined} role="alert">
      <strong>{isChanged ? texts.certificateChanged : texts.certificateUntrusted}</strong>
      <span>
        {isChanged ? texts.certificateChangedHint : texts.certificateUntrustedHint(<code>{FINGERPRINT_COMMAND}</code>)}
      </span>
      <span>{texts.certificateFacts(seen.subject, seen.issuer, formatInstant(seen.validUntilMs))}</span>
      <code className="tiny break">{seen.fingerprint}</code>
      {isChanged && (
        <>
          <span>{texts.trustedUntilNow}</span>
          <code className="tiny break">{pinned}</code>
        </>
      )}
      <Checkbox
        label={texts.trustCertificate}
        checked={isTrusted}
        onChange={(event) => onTrust(event.currentTarget.checked)}
      />
    </Stack>
  )
}

function RemoveDialog({ engine: { id, name }, onClose }: { engine: RemoteEngine; onClose: () => void }) {
  const switchTo = useSwitchEngine()
  const remove = useMutation({
    mutationFn: async () => {
      // Switch first: this page must not try to reach an engine that no longer exists.
      if (engineOfPage() === id) await switchTo(LOCAL_ENGINE)
      await desktopApp().engines.remove({ id })
    },
    onSuccess: () => openEngineDialog(null)
  })
  return (
    <ConfirmDialog
      title={texts.removeEngineQuestion(name)}
      act={texts.remove}
      onAct={() => remove.mutate()}
      isActing={remove.isPending}
      error={remove.error}
      onClose={onClose}
    >
      {texts.removeEngineHint}
    </ConfirmDialog>
  )
}
