import { Button, Menu } from '@mantine/core'
import { IconChevronDown, IconHistory, IconLogout, IconShieldLock, IconUser } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { hasBrowserSession, logOut } from '../api/browser-session.ts'
import { useMay, useMe } from '../api/use-me.ts'
import { notifyError } from '../ui/notify.tsx'
import classes from './frame.module.css'

/** Who one is, once there are users; nothing for whoever has the service's own password. */
export function AccountMenu() {
  const { data: me } = useMe()
  const mayAudit = useMay('audit.read').may
  const navigate = useNavigate()
  const leave = useMutation({ mutationFn: logOut, onError: (error) => notifyError('Could not log out', error) })
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
          aria-label={`Account of ${me.name}, ${me.role}`}
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
          Users & access
        </Menu.Item>
        {mayAudit && (
          <Menu.Item leftSection={<IconHistory size={14} />} onClick={() => void navigate({ to: '/audit' })}>
            Audit log
          </Menu.Item>
        )}
        {hasBrowserSession() && (
          <Menu.Item leftSection={<IconLogout size={14} />} onClick={() => leave.mutate()}>
            Log out
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  )
}
