import { Badge, Button, Menu, UnstyledButton } from '@mantine/core'
import {
  IconDeviceMobileOff,
  IconKey,
  IconPlus,
  IconShieldLock,
  IconTrash,
  IconUserCheck,
  IconUserOff,
  IconUsers
} from '@tabler/icons-react'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Group, User, UserChanges } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { MoreMenu } from '../../ui/more-menu.tsx'
import { notifyDone, notifyError, notifyUndo } from '../../ui/notify.tsx'
import { formatCount } from '../../ui/numbers.ts'
import { Panel } from '../../ui/panel.tsx'
import { EmptyState, QueryState } from '../../ui/states.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import { AccessTable } from './access-table.tsx'
import { ConfirmAccessChange } from './confirm-access-change.tsx'
import classes from './access.module.css'
import { fromGroups, givenWords, groupsOf } from './group-words.ts'
import { SetPasswordDialog } from './password-dialogs.tsx'
import { RoleSelect } from './role-select.tsx'
import { READ_AGAIN, useReadAccess, useRoles } from './use-access.ts'
import { UserDialog } from './user-dialog.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { useFormOf } from '../../ui/fields/form-of-schema.ts'
import { FormFoot, SchemaForm } from '../../ui/fields/schema-form.tsx'
import { type GivenRights, rightsForm, rightsIn, type RightsTexts } from './access-forms.ts'
import { RightsFields } from './rights-fields.tsx'
import { texts } from '../../../shared/texts/ui/access.ts'

/** For owners. Does not list the login with the service's own password, which is not a user. */
export function UsersPanel() {
  const { query } = useApi()
  const users = useQuery(query.users.list.queryOptions(READ_AGAIN))
  const tokens = useQuery(query.tokens.list.queryOptions(READ_AGAIN)).data?.tokens
  const groups = useQuery(query.groups.list.queryOptions(READ_AGAIN)).data?.groups ?? []
  const [isAdding, setAdding] = useState(false)
  const addButton = (
    <Button size="compact-xs" leftSection={<IconPlus size={13} />} onClick={() => setAdding(true)}>
      {texts.addUser}
    </Button>
  )
  return (
    <Panel title={texts.users} aside={users.data !== undefined && users.data.users.length > 0 && addButton} flush>
      <QueryState query={users} what={texts.theUsers} rows={3}>
        {(data) =>
          data.users.length === 0 ? (
            <EmptyState
              icon={<IconUsers size={28} stroke={1.4} />}
              title={texts.noUsers}
              action={
                <Button variant="filled" onClick={() => setAdding(true)}>
                  {texts.addUser}
                </Button>
              }
            >
              {texts.noUsersHint}
            </EmptyState>
          ) : (
            <AccessTable
              label={texts.users}
              columns={[
                texts.name,
                texts.role,
                texts.lastSeen,
                { title: texts.tokens, isNumber: true },
                texts.secondFactor,
                texts.state
              ]}
            >
              {data.users.map((user) => (
                <UserRow
                  key={user.id}
                  user={user}
                  groups={groups}
                  tokenCount={tokens?.filter(({ userId }) => userId === user.id).length ?? null}
                />
              ))}
            </AccessTable>
          )
        }
      </QueryState>
      {isAdding && <UserDialog groups={groups} onClose={() => setAdding(false)} />}
    </Panel>
  )
}

interface UserRowProps {
  user: User
  groups: readonly Group[]
  tokenCount: number | null
}

function UserRow({ user, groups, tokenCount }: UserRowProps) {
  const { name, kind, role, projects, nodeGroups, enabled, origin, lastSeenAtMs } = user
  const [asking, setAsking] = useState<'rights' | 'password' | 'reset' | 'remove' | null>(null)
  const inGroups = fromGroups(user, groups)
  const single = givenWords({ role: null, projects, nodeGroups })
  const roles = useRoles()
  const { isPending, setRole, setEnabled } = useUserChanges(user)
  return (
    <tr data-off={!enabled || undefined}>
      <th scope="row">
        <span className={classes.name}>
          <strong>{name}</strong>
          {kind === 'service' && (
            <Badge size="xs" variant="default" title={texts.serviceHint}>
              {texts.serviceBadge}
            </Badge>
          )}
          {origin !== 'local' && (
            <Badge size="xs" variant="default" title={ORIGIN_WORDS[origin]}>
              {origin}
            </Badge>
          )}
        </span>
      </th>
      <td data-label={texts.role}>
        <RoleSelect
          className={classes.roleField}
          size="xs"
          aria-label={texts.roleOf(name)}
          roles={roles}
          value={role ?? 'none'}
          hasNone={role === null}
          disabled={isPending || origin !== 'local'}
          title={origin === 'local' ? undefined : texts.roleFromGroups}
          onChange={(next) => next !== null && next !== role && next !== 'none' && setRole(next)}
        />
        {single.length > 0 && (
          <UnstyledButton
            className={`${classes.projectCount} ellipsis`}
            title={single.join('\n')}
            onClick={() => setAsking('rights')}
          >
            {single.length === 1 ? single[0] : texts.singleRoles(single.length)}
          </UnstyledButton>
        )}
        {inGroups.slice(0, GROUPS_SHOWN).map((words) => (
          <div key={words} className="dim small">
            {words}
          </div>
        ))}
        {inGroups.length > GROUPS_SHOWN && (
          <div className="dim small" title={inGroups.slice(GROUPS_SHOWN).join('\n')}>
            {texts.andOtherGroups(inGroups.length - GROUPS_SHOWN)}
          </div>
        )}
      </td>
      <td data-label={texts.lastSeen}>
        <RelativeTime atMs={lastSeenAtMs} ago absent={texts.never} />
      </td>
      <td data-label={texts.tokens} className={classes.number}>
        {tokenCount === null || tokenCount === 0 ? (
          <span className="faint">{tokenCount ?? '–'}</span>
        ) : (
          formatCount(tokenCount)
        )}
      </td>
      <td data-label={texts.secondFactor}>
        <SecondFactors user={user} />
      </td>
      <td data-label={texts.state}>
        <UserState user={user} />
      </td>
      <td className={classes.acts}>
        <MoreMenu label={texts.moreActionsFor(name)} size={24}>
          {origin === 'local' && (
            <Menu.Item leftSection={<IconShieldLock size={14} />} onClick={() => setAsking('rights')}>
              {texts.rolesItem}
            </Menu.Item>
          )}
          {kind === 'person' && origin === 'local' && (
            <Menu.Item leftSection={<IconKey size={14} />} onClick={() => setAsking('password')}>
              {texts.setPasswordItem}
            </Menu.Item>
          )}
          {(user.hasAuthenticator || user.passkeyCount > 0) && (
            <Menu.Item leftSection={<IconDeviceMobileOff size={14} />} onClick={() => setAsking('reset')}>
              {texts.resetSignInItem}
            </Menu.Item>
          )}
          <Menu.Item
            leftSection={enabled ? <IconUserOff size={14} /> : <IconUserCheck size={14} />}
            onClick={() => setEnabled(!enabled)}
          >
            {enabled ? texts.disable : texts.enable}
          </Menu.Item>
          <Menu.Item color="red" leftSection={<IconTrash size={14} />} onClick={() => setAsking('remove')}>
            {texts.removeItem}
          </Menu.Item>
        </MoreMenu>
        {asking === 'rights' && (
          <RightsDialog user={user} isInGroup={inGroups.length > 0} onClose={() => setAsking(null)} />
        )}
        {asking === 'password' && <SetPasswordDialog user={user} onClose={() => setAsking(null)} />}
        {asking === 'reset' && <ResetSignInDialog user={user} onClose={() => setAsking(null)} />}
        {asking === 'remove' && (
          <RemoveDialog user={user} groups={groups} tokenCount={tokenCount} onClose={() => setAsking(null)} />
        )}
      </td>
    </tr>
  )
}

function SecondFactors({ user: { kind, origin, hasAuthenticator, passkeyCount } }: { user: User }) {
  if (kind === 'service' || origin !== 'local') return <span className="faint">–</span>
  const all = [
    ...(hasAuthenticator ? [texts.app] : []),
    ...(passkeyCount > 0 ? [texts.passkeyCount(passkeyCount)] : [])
  ]
  return all.length === 0 ? <span className="dim">{texts.none}</span> : <>{all.join(', ')}</>
}

function ResetSignInDialog({ user: { id, name }, onClose }: { user: User; onClose: () => void }) {
  const { client } = useApi()
  return (
    <ConfirmAccessChange
      title={texts.askResetSignIn(name)}
      act={texts.resetSignIn}
      change={() => client.secondFactors.reset({ id })}
      onDone={() => notifyDone(texts.signInWasReset(name))}
      onClose={onClose}
    >
      {texts.resetSignInHint(name)}
    </ConfirmAccessChange>
  )
}

const GROUPS_SHOWN = 3

const ORIGIN_WORDS = {
  oidc: texts.originProvider,
  proxy: texts.originProxy,
  plugin: texts.originPlugin
}

function UserState({ user: { enabled, kind, origin, hasPassword } }: { user: User }) {
  if (!enabled) {
    return (
      <span className={`tone-off ${classes.marked}`}>
        <IconUserOff size={14} aria-hidden /> {texts.disabled}
      </span>
    )
  }
  if (kind === 'person' && origin === 'local' && !hasPassword) {
    return (
      <span className="tone-wait" title={texts.noPasswordHint}>
        {texts.noPassword}
      </span>
    )
  }
  return <span className="dim">{texts.enabled}</span>
}

function useUserChanges({ id, name, role }: User) {
  const { client } = useApi()
  const readAgain = useReadAccess()
  const change = async (changes: UserChanges) => {
    await client.users.update({ ...changes, id })
    await readAgain()
  }
  const { mutate, isPending } = useMutation({
    mutationFn: ({ to }: { to: UserChanges; back: UserChanges; done: string }) => change(to),
    onSuccess: (_done, { back, done }) => notifyUndo(done, () => change(back), `user:${id}`),
    onError: (error) => notifyError(texts.couldNotChange(name), error)
  })
  return {
    isPending,
    setRole: (next: string) => mutate({ to: { role: next }, back: { role }, done: texts.hasRole(name, next) }),
    setEnabled: (enabled: boolean) =>
      mutate({
        to: { enabled },
        back: { enabled: !enabled },
        done: enabled ? texts.canLogInAgain(name) : texts.isDisabled(name)
      })
  }
}

function RemoveDialog({ user, groups, tokenCount, onClose }: UserRowProps & { onClose: () => void }) {
  const { id, name, kind, enabled } = user
  const leaves = groupsOf(user, groups).map((group) => group.name)
  const { client } = useApi()
  const whatEnds = [
    ...(kind === 'person' ? [texts.cannotLogIn(name)] : []),
    ...(tokenCount ? [texts.tokensStop(tokenCount)] : []),
    ...(leaves.length > 0 ? [texts.leavesGroups(name, leaves.length)] : [])
  ]
  return (
    <ConfirmAccessChange
      title={texts.askRemove(name)}
      act={texts.remove}
      change={() => client.users.remove({ id })}
      onClose={onClose}
    >
      {whatEnds.length > 0 && `${texts.listOf(whatEnds)}. `}
      {enabled && texts.disableInstead}
    </ConfirmAccessChange>
  )
}

interface RightsDialogProps {
  user: User
  /** Whether the user is a member of a group and therefore needs no role of their own. */
  isInGroup: boolean
  onClose: () => void
}

function RightsDialog({ user, isInGroup, onClose }: RightsDialogProps) {
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
      notifyUndo(texts.rolesWereChanged(user.name), back, `user:${user.id}`)
    }
  })
  return (
    <Dialog opened onClose={onClose} title={texts.rolesOf(user.name)} size={480}>
      <SchemaForm form={form}>
        <RightsFields form={form} label={texts.inAllProjects} />
        <FormFoot form={form} submit={texts.save} onCancel={onClose} />
      </SchemaForm>
    </Dialog>
  )
}
