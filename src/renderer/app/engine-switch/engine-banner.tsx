import { Button } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { IconPlugConnectedX, IconVersions } from '@tabler/icons-react'
import { formatAge } from '../../../shared/time.ts'
import { desktopApp } from '../../api/desktop.ts'
import { useConnection } from '../../state/connection.ts'
import { openEngineDialog, useRemoteEngines } from '../../state/remote-engines.ts'
import { Banner } from '../../ui/banner.tsx'
import { useNow } from '../../ui/clock.ts'
import { notifyError } from '../../ui/notify.tsx'
import { formatMoment } from '../../ui/moment.ts'
import { texts } from '../../../shared/texts/ui/app.ts'

export function EngineBanner() {
  const engine = useRemoteEngines(({ current }) => current)
  const appVersion = useRemoteEngines((state) => state.appVersion)
  const nowMs = useNow()
  const retry = useMutation({
    mutationFn: (id: string) => desktopApp().engines.retry({ id }),
    onError: (error) => notifyError(texts.couldNotReconnect, error)
  })
  const openUi = useMutation({
    mutationFn: (id: string) => desktopApp().engines.openUi({ id }),
    onError: (error) => notifyError(texts.couldNotOpenTheBrowser, error)
  })
  if (engine === null) return null
  const { id, name, url, signsInWith, state, problem, sinceMs, asOfMs, age, version, lacks } = engine
  const signsInAgain = signsInWith === 'browser' && problem?.code === 'UNAUTHORIZED'
  if (state === 'offline' || state === 'refused') {
    return (
      <Banner isBad={state === 'refused'}>
        <IconPlugConnectedX size={14} aria-hidden />
        <span>
          <strong>
            {(state === 'offline' ? texts.engineOffline : texts.engineRefused)(
              name,
              formatAge(Math.max(0, nowMs - sinceMs))
            )}
          </strong>{' '}
          {asOfMs === null
            ? texts.noLastKnownState
            : texts.lastKnownState(formatMoment(asOfMs - (asOfMs % 60_000), nowMs))}{' '}
          {problem?.message}
        </span>
        <Button size="compact-xs" variant="default" onClick={() => retry.mutate(id)}>
          {texts.retryNow}
        </Button>
        <Button size="compact-xs" variant="default" onClick={() => openEngineDialog(engine)}>
          {signsInAgain ? texts.logInAgain : texts.editEngine}
        </Button>
      </Banner>
    )
  }
  if (age === 'newer') {
    return (
      <Banner>
        <IconVersions size={14} aria-hidden />
        <span>{texts.engineNewer(name, version!, appVersion!)}</span>
        {/* A browser can reach an engine behind an SSH host only to sign in. */}
        {!url.startsWith('ssh:') && (
          <Button size="compact-xs" variant="default" onClick={() => openUi.mutate(id)}>
            {texts.openOwnUi}
          </Button>
        )}
      </Banner>
    )
  }
  if (age !== 'older' || lacks.length === 0) return null
  return (
    <Banner>
      <IconVersions size={14} aria-hidden />
      <span title={lacks.join(', ')}>{texts.engineOlder(name, version!, appVersion!)}</span>
    </Banner>
  )
}

/** Whether the screens show outdated data because the engine does not respond. */
export function useIsOutdated(): boolean {
  const isDown = useRemoteEngines(({ current }) => current?.state === 'offline' || current?.state === 'refused')
  const isReconnecting = useConnection(({ state }) => state === 'reconnecting')
  return isDown || isReconnecting
}
