import { Button, Group } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { hasBrowserSession, logOut, openLogin } from '../../api/browser-session.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { notifyError, showNotice } from '../../ui/notify.tsx'
import { Panel } from '../../ui/panel.tsx'
import { texts } from '../../../shared/texts/ui/access.ts'

export function SessionsPanel() {
  const { query } = useApi()
  const [isAsking, setAsking] = useState(false)
  const isBrowser = hasBrowserSession()
  const { may } = useMay('users.change')
  const leave = useMutation({ mutationFn: logOut, onError: (error) => notifyError(texts.couldNotLogOut, error) })
  const everywhere = useMutation(
    query.system.logOutEverywhere.mutationOptions({
      onSuccess: ({ ended }) => {
        if (isBrowser) return openLogin()
        setAsking(false)
        showNotice({ message: ended === 0 ? texts.noBrowserWasLoggedIn : texts.browsersLoggedOut(ended) })
      }
    })
  )
  return (
    <Panel title={texts.browserSessions}>
      <p className="dim">{texts.sessionsHint}</p>
      <Group align="stretch" gap={8} mt={10}>
        {isBrowser && (
          <Button size="xs" loading={leave.isPending} onClick={() => leave.mutate()}>
            {texts.logOut}
          </Button>
        )}
        {may && (
          <Button size="xs" color="red" variant="light" onClick={() => setAsking(true)}>
            {isBrowser ? texts.logOutEverywhere : texts.logOutAllBrowsers}
          </Button>
        )}
      </Group>
      {isAsking && (
        <ConfirmDialog
          title={isBrowser ? texts.askLogOutEverywhere : texts.askLogOutAllBrowsers}
          act={isBrowser ? texts.logOutEverywhere : texts.logOutAllBrowsers}
          onAct={() => everywhere.mutate({})}
          isActing={everywhere.isPending}
          error={everywhere.error}
          onClose={() => setAsking(false)}
        >
          {isBrowser ? texts.logOutEverywhereHint : texts.logOutAllBrowsersHint}
        </ConfirmDialog>
      )}
    </Panel>
  )
}
