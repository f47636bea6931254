import { spotlight } from '@mantine/spotlight'
import { Outlet, useNavigate, useRouterState } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { useMay } from '../api/use-me.ts'
import { Notices } from '../ui/notify.tsx'
import { EVERYWHERE, HoldKeys, useKeys } from '../state/keys.ts'
import { useAlertRuleEditor, openRunDialog, useRunDialog } from '../state/open-dialogs.ts'
import { useRemoteEngines } from '../state/remote-engines.ts'
import { AlertNotices } from './alert-notices.tsx'
import classes from './frame.module.css'
import { KeysOverlay } from './keys-overlay.tsx'
import { loadPatiently } from './load-patiently.ts'
import { EngineBanner, useIsOutdated } from './engine-switch/engine-banner.tsx'
import { EngineLine } from './engine-switch/engine-switch.tsx'
import { Palette } from './palette.tsx'
import { Rail, SCREENS } from './rail.tsx'
import { TopBar } from './top-bar.tsx'
import { Button, Flex, Stack } from '@mantine/core'
import { IconEye, IconCircleFilled, IconPlugConnectedX } from '@tabler/icons-react'
import { seeAs, useSeenAs } from '../state/seen-as.ts'
import { Banner } from '../ui/banner.tsx'
import { useQuery } from '@tanstack/react-query'
import { formatAge } from '../../shared/time.ts'
import { useApi } from '../api/api.tsx'
import { useConnection } from '../state/connection.ts'
import { useNow } from '../ui/clock.ts'
import { formatCount } from '../ui/numbers.ts'
import { splitSlots } from '../ui/slots-in-use.ts'
import { texts } from '../../shared/texts/ui/app.ts'

const RunDialog = lazy(
  loadPatiently(() => import('../features/run/run-dialog.tsx').then((module) => ({ default: module.RunDialog })))
)
const RuleDialog = lazy(
  loadPatiently(() => import('../features/alerts/rule-dialog.tsx').then((module) => ({ default: module.RuleDialog })))
)
const EngineDialogs = lazy(
  loadPatiently(() => import('./engine-switch/engine-dialog.tsx').then((module) => ({ default: module.EngineDialogs })))
)
const WindowDropZone = lazy(
  loadPatiently(() => import('./window-drop-zone.tsx').then((module) => ({ default: module.WindowDropZone })))
)

export function Frame() {
  const navigate = useNavigate()
  const isOutdated = useIsOutdated()
  const mayRun = useMay('jobs.run').may
  const isGoing = useRouterState({ select: ({ status }) => status === 'pending' })
  const [keysOpened, setKeysOpened] = useState(false)
  const ruleOpened = useAlertRuleEditor(({ asked }) => asked !== null)
  const engineOpened = useRemoteEngines(({ dialog }) => dialog !== null)
  const runOpened = useRunDialog(({ prefill }) => prefill !== null)
  useKeys(EVERYWHERE, [
    { key: 'mod+k', label: texts.paletteLabel, run: () => spotlight.toggle() },
    ...(mayRun ? [{ key: 'r', label: texts.runSpiders, run: () => openRunDialog() }] : []),
    ...SCREENS.map(({ to, word }, index) => ({
      key: String((index + 1) % 10),
      label: word,
      run: () => void navigate({ to })
    })),
    { key: '?', label: texts.keyboardShortcuts, run: () => setKeysOpened(true) }
  ])
  return (
    <div className={classes.frame}>
      <a
        className={classes.skip}
        href="#main"
        onClick={(event) => {
          event.preventDefault()
          document.getElementById('main')?.focus()
        }}
      >
        {texts.skipToContent}
      </a>
      <EngineLine />
      <Rail />
      <TopBar />
      <main className={`${classes.main} column`} id="main" tabIndex={-1}>
        <SeenAsBar />
        <EngineBanner />
        <Stack gap={0} mih={0} className={`${classes.screen} grow`} data-outdated={isOutdated || undefined}>
          <Outlet />
        </Stack>
      </main>
      <Notices />
      <AlertNotices />
      <StatusBar />
      <Palette onShowKeys={() => setKeysOpened(true)} />
      <KeysOverlay opened={keysOpened} onClose={() => setKeysOpened(false)} />
      {isGoing && <HoldKeys />}
      <Suspense fallback={runOpened && <HoldKeys />}>
        {runOpened && <RunDialog />}
        {ruleOpened && <RuleDialog />}
        <WindowDropZone />
        {engineOpened && <EngineDialogs />}
      </Suspense>
    </div>
  )
}

function SeenAsBar() {
  const role = useSeenAs((state) => state.role)
  if (role === null) return null
  return (
    <Banner>
      <IconEye size={14} aria-hidden />
      <span>{texts.seenAs(<strong>{role.name}</strong>)}</span>
      <Button size="compact-xs" variant="default" onClick={() => seeAs(null)}>
        {texts.stopSeeingAs}
      </Button>
    </Banner>
  )
}

function StatusBar() {
  const { query } = useApi()
  const { data: status } = useQuery(query.system.status.queryOptions())
  const live = useConnection(({ state }) => state === 'live')
  const figures = status?.figures
  const slots = figures && splitSlots(figures.slotsUsed, figures.slotsTotal)
  return (
    <footer className={`${classes.bar} dim`} aria-label={texts.status}>
      {figures && (
        <span className={classes.figures} data-stale={!live || undefined}>
          <span title={slots?.hint}>
            {texts.slots(
              <b>
                {formatCount(slots?.inUse ?? 0)}/{formatCount(figures.slotsTotal)}
              </b>,
              slots?.over ?? null
            )}
          </span>
          <span>{texts.queueLength(<b>{formatCount(figures.queued)}</b>)}</span>
          <span>{texts.jobsPerMinute(<b>{formatCount(Math.round(figures.jobsPerMinute))}</b>)}</span>
          <span title={texts.loopHint}>
            {texts.loopDelay(
              <b className={figures.loopP99Ms > 50 ? 'tone-wait' : undefined}>
                {texts.ms(Math.round(figures.loopP99Ms))}
              </b>
            )}
          </span>
        </span>
      )}
      <ConnectionState />
    </footer>
  )
}

function ConnectionState() {
  const { state, sinceMs } = useConnection()
  if (state === 'live') {
    return (
      <Flex component="span" align="center" gap={6} className="push" role="status">
        <IconCircleFilled size={8} className="tone-ok" aria-hidden /> {texts.live}
      </Flex>
    )
  }
  return (
    <Flex component="span" align="center" gap={6} className="push tone-wait" role="status">
      <IconPlugConnectedX size={13} aria-hidden />
      {state === 'connecting' ? texts.connecting : <Reconnecting sinceMs={sinceMs} />}
    </Flex>
  )
}

function Reconnecting({ sinceMs }: { sinceMs: number }) {
  const nowMs = useNow()
  // A remote engine's last known state can be older than this page.
  const asOfMs = useRemoteEngines(({ current }) => current?.asOfMs ?? null)
  return <>{texts.reconnecting(formatAge(nowMs - Math.min(sinceMs, asOfMs ?? sinceMs)))}</>
}
