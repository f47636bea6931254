import { Button, Flex, Menu } from '@mantine/core'
import {
  IconCheck,
  IconChevronDown,
  IconDeviceDesktop,
  IconExternalLink,
  IconLock,
  IconPencil,
  IconPlus
} from '@tabler/icons-react'
import type { RemoteEngine } from '../../../shared/desktop/contract.ts'
import { LOCAL_ENGINE } from '../../../shared/wire.ts'
import { openEngineDialog, useRemoteEngines } from '../../state/remote-engines.ts'
import { useSwitchEngine } from './use-switch-engine.ts'
import classes from './engine-switch.module.css'
import { texts } from '../../../shared/texts/ui/app.ts'

export const STATE_WORDS: Record<RemoteEngine['state'], string> = {
  connecting: texts.connecting,
  live: texts.live,
  offline: texts.offline,
  refused: texts.refused
}

export function EngineSwitch() {
  const engines = useRemoteEngines((state) => state.engines) ?? []
  const current = useRemoteEngines((state) => state.current)
  const switchTo = useSwitchEngine()
  const name = current?.name ?? texts.thisComputer
  return (
    <Menu position="bottom-start" width={320}>
      <Menu.Target>
        <Button
          className={classes.switch}
          variant="subtle"
          color="gray"
          aria-label={(current?.readOnly ? texts.engineLabelReadOnly : texts.engineLabel)(name)}
          leftSection={current ? <Swatch colour={current.colour} /> : <IconDeviceDesktop size={14} />}
          rightSection={<IconChevronDown size={13} />}
        >
          <span className="ellipsis">{name}</span>
          {current?.readOnly && <IconLock size={12} className={classes.lock} aria-hidden />}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{texts.engines}</Menu.Label>
        <Menu.Item
          leftSection={<IconDeviceDesktop size={14} />}
          rightSection={current === null && <IconCheck size={14} aria-label={texts.shownEngine} />}
          onClick={() => void switchTo(LOCAL_ENGINE)}
        >
          {texts.thisComputer}
        </Menu.Item>
        {engines.map((engine) => (
          <Menu.Item
            key={engine.id}
            leftSection={<Swatch colour={engine.colour} />}
            rightSection={engine.id === current?.id && <IconCheck size={14} aria-label={texts.shownEngine} />}
            onClick={() => void switchTo(engine.id)}
          >
            <Flex component="span" align="baseline" gap={8} miw={0} className={classes.item}>
              <span className="ellipsis">{engine.name}</span>
              {engine.readOnly && <small>{texts.readOnly}</small>}
              <small className={TONES[engine.state]}>{STATE_WORDS[engine.state]}</small>
            </Flex>
          </Menu.Item>
        ))}
        <Menu.Divider />
        {current !== null && (
          <Menu.Item leftSection={<IconPencil size={14} />} onClick={() => openEngineDialog(current)}>
            {texts.editEngineNamed(current.name)}
          </Menu.Item>
        )}
        <Menu.Item leftSection={<IconPlus size={14} />} onClick={() => openEngineDialog('add')}>
          {texts.addEngineMenu}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

/** For browsers: this engine and those it lists, each with its own UI and login. */
export function TrustedEngines({ here, engines }: { here: string; engines: readonly { name: string; url: string }[] }) {
  return (
    <Menu position="bottom-start" width={320}>
      <Menu.Target>
        <Button
          className={classes.switch}
          variant="subtle"
          color="gray"
          aria-label={texts.engineLabel(here)}
          rightSection={<IconChevronDown size={13} />}
        >
          <span className="ellipsis">{here}</span>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{texts.engines}</Menu.Label>
        {engines.map(({ name, url }) => (
          <Menu.Item
            key={url}
            component="a"
            href={`${url}/ui/`}
            rel="noreferrer"
            rightSection={<IconExternalLink size={14} aria-hidden />}
          >
            <Flex component="span" align="baseline" gap={8} miw={0} className={classes.item}>
              <span className="ellipsis">{name}</span>
              <small className="ellipsis">{URL.parse(url)?.host}</small>
            </Flex>
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}

const TONES: Record<RemoteEngine['state'], string> = {
  connecting: 'tone-wait',
  live: 'tone-ok',
  offline: 'tone-off',
  refused: 'tone-bad'
}

export const COLOURS: Record<RemoteEngine['colour'], string> = {
  blue: 'var(--run)',
  teal: '#1f9e9e',
  green: 'var(--ok)',
  orange: 'var(--wait)',
  red: 'var(--bad)',
  violet: 'var(--lost)',
  grey: 'var(--off)'
}

export function Swatch({ colour }: { colour: RemoteEngine['colour'] }) {
  return <span className={`${classes.swatch} fixed`} style={{ background: COLOURS[colour] }} aria-hidden />
}

/** A line in the engine's color above everything, so that users do not mistake one engine for another. */
export function EngineLine() {
  const colour = useRemoteEngines(({ current }) => current?.colour)
  return colour === undefined ? null : (
    <span className={classes.line} style={{ background: COLOURS[colour] }} aria-hidden />
  )
}
