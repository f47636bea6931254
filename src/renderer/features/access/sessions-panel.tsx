import { Button, Group } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { hasBrowserSession, logOut, openLogin } from '../../api/browser-session.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { plural } from '../../ui/numbers.ts'
import { notifyError, showNotice } from '../../ui/notify.tsx'
import { Panel } from '../../ui/panel.tsx'

/** Ends browser sessions: this one, or all of them. The desktop's own window has none. */
export function SessionsPanel() {
  const { query } = useApi()
  const [isAsking, setAsking] = useState(false)
  const isBrowser = hasBrowserSession()
  const { may } = useMay('users.change')
  const leave = useMutation({ mutationFn: logOut, onError: (error) => notifyError('Could not log out', error) })
  const everywhere = useMutation(
    query.system.logOutEverywhere.mutationOptions({
      onSuccess: ({ ended }) => {
        if (isBrowser) return openLogin()
        setAsking(false)
        showNotice({ message: ended === 0 ? 'No browser was logged in.' : `${plural(ended, 'browser')} logged out.` })
      }
    })
  )
  return (
    <Panel title="Browser sessions">
      <p className="dim">
        A browser stays logged in for 30 days at most, and 7 without use, or until the user name or password changes.
        Programs send the password with every request and are not affected by logging out. Users & access lists all
        browsers.
      </p>
      <Group align="stretch" gap={8} mt={10}>
        {isBrowser && (
          <Button size="xs" loading={leave.isPending} onClick={() => leave.mutate()}>
            Log out
          </Button>
        )}
        {may && (
          <Button size="xs" color="red" variant="light" onClick={() => setAsking(true)}>
            {isBrowser ? 'Log out everywhere' : 'Log out all browsers'}
          </Button>
        )}
      </Group>
      {isAsking && (
        <ConfirmDialog
          title={isBrowser ? 'Log out everywhere?' : 'Log out all browsers?'}
          act={isBrowser ? 'Log out everywhere' : 'Log out all browsers'}
          onAct={() => everywhere.mutate({})}
          isActing={everywhere.isPending}
          error={everywhere.error}
          onClose={() => setAsking(false)}
        >
          All browser sessions end at once{isBrowser && ', including this one'}, with their live views. Unused login
          links stop working.
        </ConfirmDialog>
      )}
    </Panel>
  )
}
