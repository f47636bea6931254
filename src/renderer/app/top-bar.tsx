import { Button, Flex, Menu, Tooltip } from '@mantine/core'
import { spotlight } from '@mantine/spotlight'
import {
  IconPlayerPause,
  IconPlayerPlay,
  IconSearch,
  IconChevronDown,
  IconHistory,
  IconLogout,
  IconShieldLock,
  IconUser
} from '@tabler/icons-react'
import { useQuery, useMutation } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useApi } from '../api/api.tsx'
import { useMay, useMe } from '../api/use-me.ts'
import { useConnection } from '../state/connection.ts'
import { useEngineAway, useRemoteEngines } from '../state/remote-engines.ts'
import { openRunDialog } from '../state/open-dialogs.ts'
import { Kbd, modKey } from '../ui/kbd.tsx'
import { EngineSwitch, TrustedEngines } from './engine-switch/engine-switch.tsx'
import { AlertsBell } from './alerts-bell.tsx'
import classes from './frame.module.css'
import { Mark } from './mark.tsx'
import { type EnginesInUse, useEnginesInUse } from '../ui/use-engines-in-use.ts'
import { usePauseSwitch } from '../ui/use-pause-switch.ts'
import { hasBrowserSession, logOut } from '../api/browser-session.ts'
import { notifyError } from '../ui/notify.tsx'
import { texts } from '../../shared/texts/ui/app.ts'

export function TopBar() {
  const { query } = useApi()
  const { data: status } = useQuery(query.system.status.queryOptions())
  const { data: fleet } = useQuery(query.nodes.list.queryOptions())
  const engines = useEnginesInUse()
  const isDesktop = useRemoteEngines((state) => state.engines !== null)
  const { may } = useMay('jobs.run')
  const live = useConnection(({ state }) => state === 'live')
  return (
    <Flex component="header" align="center" gap={12} className={classes.top}>
      <Flex component="span" align="center" gap={7} className={classes.engine}>
        <span className={classes.smallMark}>
          <Mark />
        </span>
        <span className={`${classes.dot} ${live ? 'tone-ok' : 'tone-wait'} fixed`} aria-hidden />
        {isDesktop ? (
          <EngineSwitch />
        ) : status?.trustedEngines?.length ? (
          <TrustedEngines here={engineName(status.host)} engines={status.trustedEngines} />
        ) : engines === null ? (
          <>
            <span className="ellipsis">{engineName(status?.host)}</span>
            {fleet && <small>{texts.nodeCount(fleet.nodes.length)}</small>}
          </>
        ) : (
          <EngineLink engines={engines} host={engineName(status?.host)} />
        )}
      </Flex>
      <button
        type="button"
        className={`${classes.search} faint`}
        onClick={() => spotlight.open()}
        aria-label={texts.paletteLabel}
      >
        <IconSearch size={14} aria-hidden />
        <span>{texts.palettePlaceholder}</span>
        <Kbd>{modKey('K')}</Kbd>
      </button>
      <Flex component="span" gap={8} justify="flex-end" className={classes.actions}>
        <PauseSwitch />
        {may && <RunButton />}
        <AlertsBell />
        <AccountMenu />
      </Flex>
    </Flex>
  )
}

function RunButton() {
  const away = useEngineAway()
  return (
    <Tooltip label={away} disabled={away === null}>
      <Button
        variant="filled"
        // Not `disabled`: keyboard users must be able to reach the button and read the reason.
        data-disabled={away !== null || undefined}
        aria-disabled={away !== null}
        onClick={() => away === null && openRunDialog()}
        rightSection={<Kbd>R</Kbd>}
        aria-keyshortcuts="r"
      >
        {texts.run}
      </Button>
    </Tooltip>
  )
}

function EngineLink({ engines: { own, isOwnLeading, leader }, host }: { engines: EnginesInUse; host: string }) {
  const leads = isOwnLeading ? texts.thisLeads : leader === null ? texts.noLeader : texts.leads(leader)
  const engine = own ?? texts.someEngine
  const title = isOwnLeading ? texts.servedByLeader(host, engine) : texts.servedByFollower(host, engine, leads)
  return (
    <Link to="/engines" className={`${classes.engineLink} link`} title={title}>
      <span className="ellipsis">{own ?? host}</span> <small className="ellipsis">{leads}</small>
    </Link>
  )
}

const PAUSED_LOOK = {
  '--button-bg': 'var(--wait-soft)',
  '--button-hover': 'var(--wait-soft)',
  '--button-color': 'var(--wait)',
  '--button-bd': '1px solid var(--wait)'
}

function PauseSwitch() {
  const { paused, known, pending, may, why, toggle } = usePauseSwitch()
  if (!may && !paused) return null
  return (
    <Tooltip label={why ?? (paused ? texts.resumeHint : texts.pauseHint)}>
      <Button
        variant={paused ? 'default' : 'subtle'}
        color="gray"
        style={paused ? PAUSED_LOOK : undefined}
        disabled={!known}
        loading={pending}
        aria-pressed={paused}
        // Not `disabled`: keyboard users must be able to reach the button and read the reason.
        data-disabled={why !== null || undefined}
        aria-disabled={why !== null}
        onClick={() => why === null && toggle()}
        leftSection={paused && may ? <IconPlayerPlay size={14} /> : <IconPlayerPause size={14} />}
      >
        <span className={classes.pauseWord}>
          {!paused ? texts.pauseQueue : may ? texts.queuePausedResume : texts.queuePaused}
        </span>
      </Button>
    </Tooltip>
  )
}

function engineName(host: 'desktop' | 'service' | undefined): string {
  if (host === undefined) return texts.scrapdeck
  if (host === 'desktop' || ['127.0.0.1', 'localhost', '[::1]'].includes(window.location.hostname))
    return texts.thisComputer
  return window.location.hostname
}

/** Shows the current user, or nothing for a login with the service's own password. */
function AccountMenu() {
  const { data: me } = useMe()
  const mayAudit = useMay('audit.read').may
  const navigate = useNavigate()
  const leave = useMutation({ mutationFn: logOut, onError: (error) => notifyError(texts.couldNotLogOut, error) })
  if (me === undefined || me.userId === null) return null
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button
          className={classes.account}
          variant="subtle"
          color="gray"
          leftSection={<IconUser size={14} />}
          rightSection={<IconChevronDown size={13} className={classes.accountWord} />}
          aria-label={texts.accountOf(me.name, me.role)}
        >
          <span className={classes.accountWord}>
            <span className="ellipsis">{me.name}</span> <small>{me.role}</small>
          </span>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {me.name} · {me.role}
        </Menu.Label>
        <Menu.Item leftSection={<IconShieldLock size={14} />} onClick={() => void navigate({ to: '/access' })}>
          {texts.usersAndAccess}
        </Menu.Item>
        {mayAudit && (
          <Menu.Item leftSection={<IconHistory size={14} />} onClick={() => void navigate({ to: '/audit' })}>
            {texts.auditLog}
          </Menu.Item>
        )}
        {hasBrowserSession() && (
          <Menu.Item leftSection={<IconLogout size={14} />} onClick={() => leave.mutate()}>
            {texts.logOut}
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  )
}
