import { Button, Group, Stack, TagsInput, TextInput } from '@mantine/core'
import { IconDevices, IconDevicesCheck, IconDevicesX } from '@tabler/icons-react'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import type { Me, SignInApproval, SignInRequester, WaitingSignIn } from '../../../shared/contract/index.ts'
import { readUserCode, SIGN_IN_CLIENTS } from '../../../shared/sign-in.ts'
import { useApi } from '../../api/api.tsx'
import { hasBrowserSession } from '../../api/browser-session.ts'
import { explainError } from '../../api/explain-error.ts'
import { useMe } from '../../api/use-me.ts'
import { FieldRow, Panel, PanelsScreen } from '../../ui/panel.tsx'
import { FormFailure } from '../../ui/fields/form-failure.tsx'
import { useFormOf } from '../../ui/fields/form-of-schema.ts'
import { optionsOf } from '../../ui/fields/choice-field.tsx'
import { SchemaForm } from '../../ui/fields/schema-form.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { Select } from '../../ui/fields/select.tsx'
import { type ApprovalTexts, APPROVAL_EXPIRIES, ApprovalForm, readAuthorize } from './authorize-form.ts'
import classes from './access.module.css'
import { RoleSelect } from './role-select.tsx'
import { permissionsOfMe } from './access-forms.ts'
import { describeRole, rolesWithin } from './role-words.ts'
import { useRoles } from './use-access.ts'
import { texts } from '../../../shared/texts/ui/access.ts'

type End = { is: 'allowed' | 'denied'; requester: SignInRequester }

/** A program that needs access sends its user to this screen. */
export function AuthorizeScreen() {
  const asked = readAuthorize(getRouteApi('/authorize').useSearch())
  const [waiting, setWaiting] = useState<(WaitingSignIn & { userCode: string }) | null>(null)
  const [end, setEnd] = useState<End | null>(null)
  const me = useMe().data
  if (!hasBrowserSession()) {
    return (
      <EmptyState icon={<IconDevicesX size={28} />} title={texts.openInBrowser}>
        {texts.openInBrowserHint}
      </EmptyState>
    )
  }
  if (asked.is === 'unusable') {
    return (
      <EmptyState icon={<IconDevicesX size={28} />} title={texts.signInUnusable}>
        {texts.signInUnusableHint(asked.why)}
      </EmptyState>
    )
  }
  if (end !== null) return <Ended end={end} />
  if (me === undefined) return null
  return (
    <PanelsScreen isNarrow>
      <div className={classes.consent}>
        {asked.is === 'redirect' ? (
          <Consent
            me={me}
            {...asked}
            leave={(answer) => leaveTo(asked.redirectUri, asked.state, answer)}
            onEnd={setEnd}
          />
        ) : waiting === null ? (
          <EnterCode onFound={setWaiting} />
        ) : (
          <Consent
            me={me}
            requester={waiting}
            began={waiting}
            to={{ kind: 'code', userCode: waiting.userCode }}
            onEnd={setEnd}
          />
        )}
      </div>
    </PanelsScreen>
  )
}

function leaveTo(redirectUri: string, state: string, answer: Record<string, string>): void {
  window.location.assign(`${redirectUri}?${new URLSearchParams({ ...answer, state })}`)
}

function EnterCode({ onFound }: { onFound: (found: WaitingSignIn & { userCode: string }) => void }) {
  const { client } = useApi()
  const [typed, setTyped] = useState('')
  const userCode = readUserCode(typed)
  const find = useMutation({
    mutationFn: async (code: string) => ({ ...(await client.signIns.get({ userCode: code })), userCode: code }),
    onSuccess: onFound
  })
  return (
    <Panel>
      <Stack
        component="form"
        gap={14}
        onSubmit={(event) => {
          event.preventDefault()
          if (userCode !== null) find.mutate(userCode)
        }}
      >
        <h1 className={`${classes.question} break`}>{texts.enterTheCode}</h1>
        <TextInput
          label={texts.code}
          description={texts.codeHint}
          placeholder="WDJB-MJHT"
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          error={find.error === null ? undefined : explainError(find.error).text}
          maxLength={20}
          autoComplete="off"
          spellCheck={false}
          classNames={{ input: classes.code! }}
          data-autofocus
        />
        <Group align="stretch" gap={8} mt={10}>
          <Button type="submit" variant="filled" disabled={userCode === null} loading={find.isPending}>
            {texts.continue}
          </Button>
        </Group>
      </Stack>
    </Panel>
  )
}

interface ConsentProps {
  me: Me
  requester: SignInRequester
  to: SignInApproval['to']
  began?: Pick<WaitingSignIn, 'address' | 'beganAtMs'>
  /** Sends the browser back to the program. Absent: the program polls. */
  leave?: (answer: Record<string, string>) => void
  onEnd: (end: End) => void
}

function Consent({ me, requester, to, began, leave, onEnd }: ConsentProps) {
  const { client, query } = useApi()
  const projects = useQuery(query.projects.list.queryOptions()).data?.projects ?? []
  const within = rolesWithin(useRoles(), permissionsOfMe(me))
  const most = within.find(({ name }) => name === me.role)?.name ?? within.at(-1)?.name ?? 'viewer'
  const form = useFormOf<ApprovalTexts, Omit<SignInApproval, 'to'>>({
    schema: ApprovalForm,
    start: () => ({ role: most, projects: [], expiry: '90' }),
    save: async (wanted) => {
      const { code } = await client.signIns.approve({ to, ...wanted })
      onEnd({ is: 'allowed', requester })
      if (code !== null) leave?.({ code })
    }
  })
  const deny = useMutation({
    mutationFn: async () => {
      if (to.kind === 'code') await client.signIns.deny({ userCode: to.userCode })
      onEnd({ is: 'denied', requester })
      leave?.({ error: 'access_denied' })
    }
  })
  const program = SIGN_IN_CLIENTS[requester.client].toLowerCase()
  return (
    <Panel>
      <SchemaForm form={form}>
        <h1 className={`${classes.question} break`}>{texts.consentQuestion(program, requester.host)}</h1>
        <div>
          <FieldRow label={texts.youAre}>
            <strong>{me.name}</strong>
          </FieldRow>
          <FieldRow label={texts.computer}>
            {requester.host}
            {requester.user !== '' && <span className="dim">{texts.computerAccount(requester.user)}</span>}
          </FieldRow>
          {began !== undefined && <FieldRow label={texts.askedFrom}>{began.address}</FieldRow>}
        </div>
        <p>{began === undefined ? texts.consentHintHere : texts.consentHint}</p>
        <RoleSelect
          {...form.input('role')}
          roles={within}
          label={texts.role}
          description={`${describeRole(within, form.values.role)}.`}
        />
        <TagsInput
          label={texts.projects}
          placeholder={texts.allOfYours}
          data={projects.map(({ name }) => name)}
          value={form.values.projects}
          error={form.error('projects')}
          onChange={(names) => form.change({ projects: names })}
        />
        <Select
          {...form.input('expiry')}
          label={texts.expiresAfter}
          description={texts.revokeAnyTime}
          allowDeselect={false}
          data={optionsOf(APPROVAL_EXPIRIES)}
        />
        <FormFailure error={form.failure ?? deny.error} />
        <Group align="stretch" gap={8} mt={10}>
          <Button type="submit" variant="filled" loading={form.isSaving}>
            {texts.allow}
          </Button>
          <Button variant="default" loading={deny.isPending} onClick={() => deny.mutate()}>
            {texts.deny}
          </Button>
        </Group>
      </SchemaForm>
    </Panel>
  )
}

function Ended({ end: { is, requester } }: { end: End }) {
  const name = texts.programOnHost(SIGN_IN_CLIENTS[requester.client], requester.host)
  return is === 'allowed' ? (
    <EmptyState icon={<IconDevicesCheck size={28} className="tone-ok" />} title={texts.programSignedIn(name)}>
      {texts.signedInHint}
    </EmptyState>
  ) : (
    <EmptyState icon={<IconDevices size={28} />} title={texts.programNotSignedIn(name)}>
      {texts.notSignedInHint}
    </EmptyState>
  )
}
