import { spotlight } from '@mantine/spotlight'
import { Outlet, useNavigate, useRouterState } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { useMay } from '../api/use-me.ts'
import { Notices } from '../ui/notify.tsx'
import { EVERYWHERE, HoldKeys, useKeys } from '../state/keys.ts'
import { useAlertRuleEditor } from '../state/open-alert-rule.ts'
import { openRunDialog, useRunDialog } from '../state/open-run-dialog.ts'
import { useRemoteEngines } from '../state/remote-engines.ts'
import { AlertNotices } from './alert-notices.tsx'
import classes from './frame.module.css'
import { KeysOverlay } from './keys-overlay.tsx'
import { loadPatiently } from './load-patiently.ts'
import { EngineBanner, useIsOutdated } from './engine-switch/engine-banner.tsx'
import { EngineLine } from './engine-switch/engine-switch.tsx'
import { Palette } from './palette.tsx'
import { Rail, SCREENS } from './rail.tsx'
import { StatusBar } from './status-bar.tsx'
import { TopBar } from './top-bar.tsx'
import { Button } from '@mantine/core'
import { IconEye } from '@tabler/icons-react'
import { seeAs, useSeenAs } from '../state/seen-as.ts'
import { Banner } from '../ui/banner.tsx'

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

/** The frame around every screen. */
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
    { key: 'mod+k', label: 'Search or run a command', run: () => spotlight.toggle() },
    ...(mayRun ? [{ key: 'r', label: 'Run spiders', run: () => openRunDialog() }] : []),
    ...SCREENS.map(({ to, word }, index) => ({
      // The tenth is 0, as on a keyboard.
      key: String((index + 1) % 10),
      label: word,
      run: () => void navigate({ to })
    })),
    { key: '?', label: 'Keyboard shortcuts', run: () => setKeysOpened(true) }
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
        Skip to content
      </a>
      <EngineLine />
      <Rail />
      <TopBar />
      <main className={classes.main} id="main" tabIndex={-1}>
        <SeenAsBar />
        <EngineBanner />
        <div className={classes.screen} data-outdated={isOutdated || undefined}>
          <Outlet />
        </div>
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

/** Above every screen, while an owner looks at it with the eyes of another role. */
function SeenAsBar() {
  const role = useSeenAs((state) => state.role)
  if (role === null) return null
  return (
    <Banner>
      <IconEye size={14} aria-hidden />
      <span>
        You see what a user with the role <strong>{role.name}</strong> sees. Your own rights are unchanged.
      </span>
      <Button size="compact-xs" variant="default" onClick={() => seeAs(null)}>
        Stop
      </Button>
    </Banner>
  )
}
