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
import { useSwitchEngine } from './use-switch-engine.ts'
import { texts } from '../../../shared/texts/ui/app.ts'

interface EngineTexts extends z.input<typeof EngineSettings> {
  kind: RemoteEngine['signsInWith']
  token: string
  username: string
  password: string
  /** With the browser, in place of the earlier credentials. */
  again: boolean
  /** In another browser, where a code is entered; for engines behind an SSH host. */
  withCode: boolean
}

/** `browser`, `code`: signs in when it is saved. */
type Chosen = EngineCredentials | 'browser' | 'code' | null

/** What the dialog waits for. */
type Waiting = 'browser' | { page: string; userCode: string }

const isBehindSsh = (url: string): boolean => /^ssh:/i.test(url.trim())

/** `isOptional`: the earlier credentials stay if no others are entered. */
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

/** The open dialog, if any. */
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
  /** The certificate of the server, not confirmed yet. */
  const [seen, setSeen] = useState<SeenCertificate | null>(null)
  const [trusted, setTrusted] = useState<string | null>(null)
  const [waitsFor, setWaitsFor] = useState<Waiting | null>(null)
  /** Aborted with the dialog, which ends the wait for the browser. */
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
        notifyDone(texts.added(added.name))
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
    <Dialog opened onClose={close} title={engine === null ? texts.addEngine : texts.edit(engine.name)} size={520}>
      <SchemaForm form={form} className={classes.form}>
        <TextInput {...form.input('name')} label={texts.name} placeholder={texts.euProduction} data-autofocus />
        <TextInput
          {...form.input('url')}
          label={texts.address}
          placeholder="https://deck.example.org"
          description={
            isOverSsh ? texts.throughTheSshHostWithYour : isPlain ? texts.withoutTlsYourTokenOrPassword : undefined
          }
        />
        <SegmentedControl
          aria-label={texts.signInWith}
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
            description={engine === null ? texts.createOneThereUnderUsersAccess : UNCHANGED}
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
        <Input.Wrapper label={texts.colour} description={texts.shownAboveEverythingOfThis} labelElement="div">
          <Group align="stretch" gap={6} wrap="nowrap" mt={6} role="radiogroup" aria-label={texts.colour}>
            {ENGINE_COLOURS.map((colour) => (
              <button
                key={colour}
                type="button"
                role="radio"
                aria-label={colour}
                aria-checked={form.values.colour === colour}
                data-on={form.values.colour === colour || undefined}
                data-colour={colour}
                className={`${classes.colour} ${classes.swatch} fixed`}
                onClick={() => form.change({ colour })}
              />
            ))}
          </Group>
        </Input.Wrapper>
        <Checkbox
          {...form.input('readOnly', 'checkbox')}
          label="Read-only"
          description={texts.nothingIsChangedThereFromThis}
        />
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
          submit={signsIn ? texts.signIn : engine === null ? texts.addEngine : texts.save}
          isDisabled={seen !== null && trusted === null}
          onCancel={close}
        >
          {engine !== null && (
            <Button variant="subtle" color="red" onClick={() => setRemoves(true)}>
              {texts.remove}
            </Button>
          )}
        </FormFoot>
      </SchemaForm>
    </Dialog>
  )
}

const UNCHANGED = texts.leaveEmptyToKeepTheCurrent

const startOf = (engine: RemoteEngine | null): EngineTexts => ({
  ...{ name: engine?.name ?? '', url: engine?.url ?? '', colour: engine?.colour ?? 'blue' },
  ...{ readOnly: engine?.readOnly ?? false, kind: engine?.signsInWith ?? 'browser' },
  ...{ token: '', username: (engine?.signsInWith === 'password' && engine.username) || '', password: '' },
  withCode: false,
  again: engine !== null && (engine.signsInWith !== 'browser' || engine.problem?.code === 'UNAUTHORIZED')
})

/** Resolves when the user has allowed it, in the browser of this computer or in the one where the code was entered. */
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

/** What happens with the browser. */
function SignInHelp({ form, engine, isOverSsh, waitsFor }: SignInHelpProps) {
  if (waitsFor === 'browser') {
    return (
      <Stack gap={8} className="dim" role="status">
        {texts.continueInYourBrowserLogIn}
      </Stack>
    )
  }
  if (waitsFor !== null) {
    return (
      <Stack gap={8} className="dim" role="status">
        <span>
          Open this Scrapdeck in a browser that reaches it, at its public address or on the SSH host:{' '}
          <code>{waitsFor.page}</code>. Log in there and enter this code. This window waits for it.
        </span>
        <code className={classes.userCode}>{waitsFor.userCode}</code>
      </Stack>
    )
  }
  const isKept = engine?.signsInWith === 'browser'
  return (
    <Stack gap={8} className="dim">
      {form.values.withCode && isOverSsh
        ? texts.youGetACodeAndEnter
        : `Your browser opens${isOverSsh ? texts.andReachesTheEngineThrough : ''}. Log in there as you usually do, and choose what this app may do. It gets a token of its own.`}
      {isOverSsh && (
        <Checkbox
          {...form.input('withCode', 'checkbox')}
          label={texts.useACodeInAnotherBrowser}
          description={texts.forAPasskeyOrAnIdentity}
        />
      )}
      {isKept && <Checkbox {...form.input('again', 'checkbox')} label={`Sign in again (now ${engine.username})`} />}
    </Stack>
  )
}

interface CertificateProps {
  seen: SeenCertificate
  pinned: string | null
  isTrusted: boolean
  onTrust: (yes: boolean) => void
}

/** Trust on first use: shows the fingerprint for the user to compare. */
function Certificate({ seen, pinned, isTrusted, onTrust }: CertificateProps) {
  const isChanged = pinned !== null && pinned !== seen.fingerprint
  return (
    <Stack gap={6} className={`${classes.certificate} box`} data-changed={isChanged || undefined} role="alert">
      <strong>{isChanged ? texts.theCertificateHasChanged : texts.theCertificateIsNotTrusted}</strong>
      <span>
        {isChanged ? (
          texts.trustTheNewOneOnlyIf
        ) : (
          <>
            No authority that this computer trusts has issued it. Compare its fingerprint with the one on that machine:{' '}
            <code>{'openssl x509 -noout -fingerprint -sha256 -in cert.pem'}</code>
          </>
        )}
      </span>
      <span>{texts.issuedByValidUntil(seen.subject, seen.issuer, formatInstant(seen.validUntilMs))}</span>
      <code className={`${classes.fingerprint} break`}>{seen.fingerprint}</code>
      {isChanged && (
        <>
          <span>{texts.trustedUntilNow}</span>
          <code className={`${classes.fingerprint} break`}>{pinned}</code>
        </>
      )}
      <Checkbox
        label={texts.trustThisCertificateAndOnly}
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
      // First, so that this page does not look for an engine that is gone.
      if (engineOfPage() === id) await switchTo(LOCAL_ENGINE)
      await desktopApp().engines.remove({ id })
    },
    onSuccess: () => openEngineDialog(null)
  })
  return (
    <ConfirmDialog
      title={texts.removeFromThisComputer(name)}
      act={texts.remove2}
      onAct={() => remove.mutate()}
      isActing={remove.isPending}
      error={remove.error}
      onClose={onClose}
    >
      {texts.itsStoredCredentialsAndIts}
    </ConfirmDialog>
  )
}
