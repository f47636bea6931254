import { Badge, Button } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { Session } from '../../../shared/contract/index.ts'
import { formatAge } from '../../../shared/time.ts'
import { useApi } from '../../api/api.tsx'
import { hasBrowserSession, logOut } from '../../api/browser-session.ts'
import { useMay } from '../../api/use-me.ts'
import { useNow } from '../../ui/clock.ts'
import { notifyError, showNotice } from '../../ui/notify.tsx'
import { Panel } from '../../ui/panel.tsx'
import { QueryState } from '../../ui/states.tsx'
import { formatInstant, RelativeTime } from '../../ui/time.tsx'
import { AccessTable } from './access-table.tsx'
import classes from './access.module.css'
import { describeBrowser } from './browser-words.ts'
import { READ_AGAIN } from './use-access.ts'

const WAYS: Record<Session['signedInWith'], string> = {
  password: 'password',
  link: 'login link',
  oidc: 'identity provider',
  passkey: 'passkey'
}

/** Browsers that are logged in: one's own, or those of everybody for an owner. */
export function BrowsersPanel() {
  const { query } = useApi()
  const isOwner = useMay('users.change', 'everywhere').may
  const sessions = useQuery(query.sessions.list.queryOptions(READ_AGAIN))
  return (
    <Panel
      title={isOwner ? 'Browser sessions' : 'Your browser sessions'}
      note={isOwner ? 'of all users' : undefined}
      flush
    >
      <QueryState query={sessions} what="the browser sessions" rows={2}>
        {(data) =>
          data.sessions.length === 0 ? (
            <p className={`dim ${classes.none}`}>No browser is logged in.</p>
          ) : (
            <AccessTable
              label="Browser sessions"
              columns={['Browser', isOwner && 'User', 'Signed in with', 'Address', 'Last seen', 'Ends']}
            >
              {data.sessions.map((session) => (
                <SessionRow key={session.id} session={session} showsUser={isOwner} />
              ))}
            </AccessTable>
          )
        }
      </QueryState>
    </Panel>
  )
}

function SessionRow({ session, showsUser }: { session: Session; showsUser: boolean }) {
  const nowMs = useNow()
  const { userName, signedInWith, address, userAgent, lastSeenAtMs, endsAtMs, isCurrent } = session
  const browser = describeBrowser(userAgent)
  const { end, isPending } = useEnd(session, browser)
  return (
    <tr>
      <th scope="row">
        <span className={classes.name} title={userAgent}>
          <strong>{browser}</strong>
          {isCurrent && (
            <Badge size="xs" variant="default">
              this browser
            </Badge>
          )}
        </span>
      </th>
      {showsUser && <td data-label="User">{userName}</td>}
      <td data-label="Signed in with">{WAYS[signedInWith]}</td>
      <td data-label="Address" className="mono">
        {address}
      </td>
      <td data-label="Last seen">
        <RelativeTime atMs={lastSeenAtMs} suffix=" ago" />
      </td>
      <td data-label="Ends">
        <span title={formatInstant(endsAtMs)}>in {formatAge(Math.max(0, endsAtMs - nowMs))}</span>
      </td>
      <td className={classes.acts}>
        <Button
          size="compact-xs"
          variant="subtle"
          color="red"
          loading={isPending}
          aria-label={isCurrent ? 'Log out of this browser' : `Log out ${browser} of ${userName}`}
          onClick={end}
        >
          Log out
        </Button>
      </td>
    </tr>
  )
}

/** Without confirmation: after a mistake, the user logs in again. */
function useEnd({ id, userName, isCurrent }: Session, browser: string) {
  const { client, query } = useApi()
  const queries = useQueryClient()
  const { mutate, isPending } = useMutation({
    mutationFn: async () => {
      if (isCurrent && hasBrowserSession()) return logOut()
      await client.sessions.revoke({ id })
      await queries.invalidateQueries({ queryKey: query.sessions.key() })
      showNotice({ message: `${browser} of ${userName} is logged out.` })
    },
    onError: (error) => notifyError('Could not end the session', error)
  })
  return { end: () => mutate(), isPending }
}
