import { Badge, Button, Menu, UnstyledButton } from '@mantine/core'
import { IconCopy, IconPencil, IconPlus, IconShieldLock, IconTrash } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { AccessRole } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { MoreMenu } from '../../ui/more-menu.tsx'
import { plural } from '../../ui/numbers.ts'
import { Panel } from '../../ui/panel.tsx'
import classes from './access.module.css'
import { RoleDialog } from './role-dialog.tsx'
import { describeRole, listPermissions } from './role-words.ts'
import { useReadAccess, useRoles } from './use-access.ts'

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
      <table className={classes.table} aria-label="Roles">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Description</th>
            <th scope="col" className={classes.number}>
              Permissions
            </th>
            <th scope="col">Given in</th>
            <th>
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {roles.map((role) => (
            <RoleRow key={role.name} role={role} roles={roles} />
          ))}
        </tbody>
      </table>
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
        <span className={`dim ${classes.description}`}>{describeRole(roles, name)}</span>
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
  const { query } = useApi()
  const readAgain = useReadAccess()
  const { mutate, isPending, error } = useMutation(
    query.roles.remove.mutationOptions({
      onSuccess: () => {
        onClose()
        return readAgain()
      }
    })
  )
  return (
    <ConfirmDialog
      title={`Remove the role ${name}?`}
      act="Remove"
      onAct={() => mutate({ name })}
      isActing={isPending}
      error={error}
      onClose={onClose}
    >
      Nobody can be given it any more. A role that somebody has cannot be removed.
    </ConfirmDialog>
  )
}
