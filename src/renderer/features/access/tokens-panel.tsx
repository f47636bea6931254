import { Button, Group, Tabs } from '@mantine/core'
import { IconAlertTriangle, IconKey, IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { AccessToken, Me, UserId } from '../../../shared/contract/index.ts'
import { formatAge } from '../../../shared/time.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { useNow } from '../../ui/clock.ts'
import { Panel } from '../../ui/panel.tsx'
import { EmptyState, QueryState } from '../../ui/states.tsx'
import { formatInstant, RelativeTime } from '../../ui/time.tsx'
import { AccessTable } from './access-table.tsx'
import { ConfirmAccessChange } from './confirm-access-change.tsx'
import classes from './access.module.css'
import { TokenDialog } from './token-dialog.tsx'
import { READ_AGAIN } from './use-access.ts'
import { hasBrowserSession } from '../../api/browser-session.ts'
import { CopyButton, CopyText } from '../../ui/copy-button.tsx'
import { Dialog, DialogFoot, DialogText } from '../../ui/dialog.tsx'
import { texts } from '../../../shared/texts/ui/access.ts'

export function TokensPanel({ me }: { me: Me }) {
  const { query } = useApi()
  const isOwner = useMay('users.change', 'everywhere').may
  const tokens = useQuery(query.tokens.list.queryOptions(READ_AGAIN))
  const { data: listed } = useQuery(query.users.list.queryOptions({ ...READ_AGAIN, enabled: isOwner }))
  const users = listed?.users ?? []
  const [isCreating, setCreating] = useState(false)
  const [created, setCreated] = useState<CreatedToken | null>(null)
  const nameOf = (id: UserId | null) =>
    id === me.userId ? me.name : (users.find((user) => user.id === id)?.name ?? (id === null ? texts.theService : '–'))
  return (
    <Panel
      title={isOwner ? texts.tokens : texts.yourTokens}
      note={isOwner ? texts.ofAllUsers : undefined}
      aside={
        <Button size="compact-xs" leftSection={<IconPlus size={13} />} onClick={() => setCreating(true)}>
          {texts.createToken}
        </Button>
      }
      flush
    >
      <QueryState query={tokens} what={texts.theTokens} rows={3}>
        {(data) =>
          data.tokens.length === 0 ? (
            <EmptyState icon={<IconKey size={28} stroke={1.4} />} title={texts.noTokens}>
              {texts.noTokensHint}
            </EmptyState>
          ) : (
            <AccessTable
              label={texts.tokens}
              columns={[texts.name, isOwner && texts.user, texts.role, texts.token, texts.expires, texts.lastUsed]}
            >
              {data.tokens
                .filter(({ userId }) => isOwner || userId === me.userId)
                .toSorted((left, right) => right.createdAtMs - left.createdAtMs)
                .map((token) => (
                  <TokenRow key={token.id} token={token} user={isOwner ? nameOf(token.userId) : null} />
                ))}
            </AccessTable>
          )
        }
      </QueryState>
      {isCreating && (
        <TokenDialog
          me={me}
          users={users}
          onClose={() => setCreating(false)}
          onCreated={({ secret, token }) => setCreated({ secret, token, userName: nameOf(token.userId) })}
        />
      )}
      {created !== null && <TokenSecretDialog {...created} onClose={() => setCreated(null)} />}
    </Panel>
  )
}

/** `user`: the token's user. null: all tokens are the caller's. */
function TokenRow({ token, user }: { token: AccessToken; user: string | null }) {
  const [isAsking, setAsking] = useState(false)
  const { name, role, ending, lastUsedAtMs } = token
  const { projects, nodeGroups } = token
  const only = [...(projects ?? []), ...(nodeGroups ?? []).map((tag) => texts.onlyNodes(tag))]
  return (
    <tr>
      <th scope="row">
        <strong>{name}</strong>
      </th>
      {user !== null && <td data-label={texts.user}>{user}</td>}
      <td data-label={texts.role}>
        {role}
        {only.length > 0 && (
          <span className="dim" title={only.join('\n')}>
            {' '}
            {only.length === 1
              ? texts.only(only[0]!)
              : nodeGroups === null
                ? texts.onlyProjects(only.length)
                : texts.onlyPlaces(only.length)}
          </span>
        )}
      </td>
      <td data-label={texts.token}>
        <span className="mono" title={texts.tokenEndingHint}>
          …{ending}
        </span>
      </td>
      <td data-label={texts.expires}>
        <Expiry token={token} />
      </td>
      <td data-label={texts.lastUsed}>
        <RelativeTime atMs={lastUsedAtMs} ago absent={texts.never} />
      </td>
      <td className={classes.acts}>
        <Button
          size="compact-xs"
          variant="subtle"
          color="red"
          aria-label={texts.revokeToken(name)}
          onClick={() => setAsking(true)}
        >
          {texts.revokeItem}
        </Button>
        {isAsking && <RevokeDialog token={token} onClose={() => setAsking(false)} />}
      </td>
    </tr>
  )
}

function Expiry({ token: { expiresAtMs } }: { token: AccessToken }) {
  const nowMs = useNow()
  if (expiresAtMs === null) return <span className="faint">{texts.never}</span>
  const isOver = expiresAtMs <= nowMs
  return (
    <span className={isOver ? `tone-bad ${classes.marked}` : undefined} title={formatInstant(expiresAtMs)}>
      {isOver && <IconAlertTriangle size={14} aria-hidden />}
      {isOver ? texts.expiredAgo(formatAge(nowMs - expiresAtMs)) : texts.timeLeft(timeLeft(expiresAtMs - nowMs))}
    </span>
  )
}

const DAY_MS = 86_400_000

/** Rounded to days, so that a new token shows its full 90 days. */
const timeLeft = (leftMs: number): string =>
  leftMs < 2 * DAY_MS ? formatAge(leftMs) : `${Math.round(leftMs / DAY_MS)} d`

function RevokeDialog({
  token: { id, name, ending, lastUsedAtMs },
  onClose
}: {
  token: AccessToken
  onClose: () => void
}) {
  const { client } = useApi()
  return (
    <ConfirmAccessChange
      title={texts.askRevoke(name)}
      act={texts.revoke}
      change={() => client.tokens.revoke({ id })}
      onClose={onClose}
    >
      {texts.tokenRefused(<span className="mono">…{ending}</span>)}{' '}
      {lastUsedAtMs === null ? texts.neverUsed : texts.tokenLastUsed(<RelativeTime atMs={lastUsedAtMs} ago />)}
    </ConfirmAccessChange>
  )
}

interface CreatedToken {
  token: AccessToken
  secret: string
  userName: string
}

/** Shows the token once: the engine stores only its hash. */
function TokenSecretDialog({ token, secret, userName, onClose }: CreatedToken & { onClose: () => void }) {
  const address = useAddress()
  const snippets = {
    API: texts.apiSnippet(secret, address),
    'scrapy.cfg': texts.tokenCfgSnippet(address, userName, secret)
  }
  return (
    <Dialog opened onClose={onClose} title={texts.tokenWasCreated(token.name)} size={560} closeOnClickOutside={false}>
      <DialogText>{texts.copyTokenNow}</DialogText>
      <Group gap={10} wrap="nowrap" mb={14} className="well">
        <CopyText value={secret} what={texts.theToken} />
      </Group>
      <Tabs defaultValue="API" mb={14}>
        <Tabs.List>
          {Object.keys(snippets).map((name) => (
            <Tabs.Tab key={name} value={name}>
              {name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {Object.entries(snippets).map(([name, text]) => (
          <Tabs.Panel key={name} value={name} className={classes.snippet}>
            <pre className="mono">{text}</pre>
            <CopyButton value={text} what={texts.snippetWithToken} />
          </Tabs.Panel>
        ))}
      </Tabs>
      <DialogFoot>
        <Button variant="filled" onClick={onClose}>
          {texts.secretSaved}
        </Button>
      </DialogFoot>
    </Dialog>
  )
}

/**
 * The address where programs reach this Scrapdeck. The desktop app's page has none, so it shows the engine's address.
 */
function useAddress(): string {
  const { query } = useApi()
  const isBrowser = hasBrowserSession()
  const { data } = useQuery(query.system.status.queryOptions({ enabled: !isBrowser }))
  return isBrowser ? new URL('..', document.baseURI).href : `${data?.address ?? 'http://SCRAPDECK'}/`
}
