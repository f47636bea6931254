import { Badge, Button, Menu, UnstyledButton } from '@mantine/core'
import { IconCopy, IconPencil, IconPlus, IconShieldLock, IconTrash } from '@tabler/icons-react'
import { useState } from 'react'
import type { AccessRole } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { MoreMenu } from '../../ui/more-menu.tsx'
import { plural } from '../../ui/numbers.ts'
import { Panel } from '../../ui/panel.tsx'
import { AccessTable } from './access-table.tsx'
import { ConfirmAccessChange } from './confirm-access-change.tsx'
import classes from './access.module.css'
import { RoleDialog } from './role-dialog.tsx'
import { describeRole, listPermissions } from './role-words.ts'
import { useRoles } from './use-access.ts'

/** The built-in roles and those of owners. */
export function RolesPanel() {
  const roles = useRoles()
  const [isAdding, setAdding] = useState(false)
  return (
    <Panel
      title="Roles"
      aside={
        <Button size="compact-xs" leftSection={<IconPlus size={13} />} onClick={() => setAdding(true)}>
          Add role
        </Button>
      }
      flush
    >
      <AccessTable
        label="Roles"
        columns={['Name', 'Description', { title: 'Permissions', isNumber: true }, 'Given in']}
      >
        {roles.map((role) => (
          <RoleRow key={role.name} role={role} roles={roles} />
        ))}
      </AccessTable>
      {isAdding && <RoleDialog role={null} onClose={() => setAdding(false)} />}
    </Panel>
  )
}

function RoleRow({ role, roles }: { role: AccessRole; roles: readonly AccessRole[] }) {
  const { name, permissions, isBuiltIn, isForProjects } = role
  const [open, setOpen] = useState<'role' | 'copy' | 'remove' | null>(null)
  return (
    <tr>
      <th scope="row">
        <span className={classes.name}>
          <strong>{name}</strong>
          {isBuiltIn && (
            <Badge size="xs" variant="default" title="It stays as it is">
              built-in
            </Badge>
          )}
        </span>
      </th>
      <td data-label="Description">
        <span className={`${classes.description} dim break`}>{describeRole(roles, name)}</span>
      </td>
      <td data-label="Permissions" className={classes.number}>
        <UnstyledButton
          className={classes.count}
          title={listPermissions(permissions)}
          aria-label={`${plural(permissions.length, 'permission')} of ${name}`}
          onClick={() => setOpen('role')}
        >
          {permissions.length}
        </UnstyledButton>
      </td>
      <td data-label="Given in">
        <span className="dim">{isForProjects ? 'any project' : 'all projects'}</span>
      </td>
      <td className={classes.acts}>
        <MoreMenu label={`More actions for the role ${name}`} size={24}>
          <Menu.Item
            leftSection={isBuiltIn ? <IconShieldLock size={14} /> : <IconPencil size={14} />}
            onClick={() => setOpen('role')}
          >
            {isBuiltIn ? 'Show permissions' : 'Edit…'}
          </Menu.Item>
          <Menu.Item leftSection={<IconCopy size={14} />} onClick={() => setOpen('copy')}>
            Duplicate…
          </Menu.Item>
          {!isBuiltIn && (
            <Menu.Item color="red" leftSection={<IconTrash size={14} />} onClick={() => setOpen('remove')}>
              Remove…
            </Menu.Item>
          )}
        </MoreMenu>
        {(open === 'role' || open === 'copy') && (
          <RoleDialog role={role} isCopy={open === 'copy'} onClose={() => setOpen(null)} />
        )}
        {open === 'remove' && <RemoveDialog name={name} onClose={() => setOpen(null)} />}
      </td>
    </tr>
  )
}

function RemoveDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const { client } = useApi()
  return (
    <ConfirmAccessChange
      title={`Remove the role ${name}?`}
      act="Remove"
      change={() => client.roles.remove({ name })}
      onClose={onClose}
    >
      It can no longer be given to users. A role that is in use cannot be removed.
    </ConfirmAccessChange>
  )
}
