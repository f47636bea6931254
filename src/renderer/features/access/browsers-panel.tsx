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
import { texts } from '../../../shared/texts/ui/access.ts'

const WAYS: Record<Session['signedInWith'], string> = {
  password: texts.withPassword,
  link: texts.withLoginLink,
  oidc: texts.withProvider,
  passkey: texts.withPasskey
}

export function BrowsersPanel() {
  const { query } = useApi()
  const isOwner = useMay('users.change', 'everywhere').may
  const sessions = useQuery(query.sessions.list.queryOptions(READ_AGAIN))
  return (
    <Panel
      title={isOwner ? texts.browserSessions : texts.yourBrowserSessions}
      note={isOwner ? texts.ofAllUsers : undefined}
      flush
    >
      <QueryState query={sessions} what={texts.theBrowserSessions} rows={2}>
        {(data) =>
          data.sessions.length === 0 ? (
            <p className={`dim ${classes.none}`}>{texts.noBrowserIsLoggedIn}</p>
          ) : (
            <AccessTable
              label={texts.browserSessions}
              columns={[
                texts.browser,
                isOwner && texts.user,
                texts.loggedInWith,
                texts.address,
                texts.lastSeen,
                texts.ends
              ]}
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
              {texts.thisBrowser}
            </Badge>
          )}
        </span>
      </th>
      {showsUser && <td data-label={texts.user}>{userName}</td>}
      <td data-label={texts.loggedInWith}>{WAYS[signedInWith]}</td>
      <td data-label={texts.address} className="mono">
        {address}
      </td>
      <td data-label={texts.lastSeen}>
        <RelativeTime atMs={lastSeenAtMs} ago />
      </td>
      <td data-label={texts.ends}>
        <span title={formatInstant(endsAtMs)}>{texts.timeLeft(formatAge(Math.max(0, endsAtMs - nowMs)))}</span>
      </td>
      <td className={classes.acts}>
        <Button
          size="compact-xs"
          variant="subtle"
          color="red"
          loading={isPending}
          aria-label={isCurrent ? texts.logOutThisBrowser : texts.logOutBrowser(browser, userName)}
          onClick={end}
        >
          {texts.logOut}
        </Button>
      </td>
    </tr>
  )
}

/** Needs no confirmation: after a mistake, the user can log in again. */
function useEnd({ id, userName, isCurrent }: Session, browser: string) {
  const { client, query } = useApi()
  const queries = useQueryClient()
  const { mutate, isPending } = useMutation({
    mutationFn: async () => {
      if (isCurrent && hasBrowserSession()) return logOut()
      await client.sessions.revoke({ id })
      await queries.invalidateQueries({ queryKey: query.sessions.key() })
      showNotice({ message: texts.browserIsLoggedOut(browser, userName) })
    },
    onError: (error) => notifyError(texts.couldNotEndSession, error)
  })
  return { end: () => mutate(), isPending }
}
