import { Badge, Button, Menu, UnstyledButton } from '@mantine/core'
import { IconCopy, IconPencil, IconPlus, IconShieldLock, IconTrash } from '@tabler/icons-react'
import { useState } from 'react'
import type { AccessRole } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { MoreMenu } from '../../ui/more-menu.tsx'
import { Panel } from '../../ui/panel.tsx'
import { AccessTable } from './access-table.tsx'
import { ConfirmAccessChange } from './confirm-access-change.tsx'
import classes from './access.module.css'
import { RoleDialog } from './role-dialog.tsx'
import { describeRole, listPermissions } from './role-words.ts'
import { useRoles } from './use-access.ts'
import { texts } from '../../../shared/texts/ui/access.ts'

export function RolesPanel() {
  const roles = useRoles()
  const [isAdding, setAdding] = useState(false)
  return (
    <Panel
      title={texts.roles}
      aside={
        <Button size="compact-xs" leftSection={<IconPlus size={13} />} onClick={() => setAdding(true)}>
          {texts.addRole}
        </Button>
      }
      flush
    >
      <AccessTable
        label={texts.roles}
        columns={[texts.name, texts.description, { title: texts.permissions, isNumber: true }, texts.assignedIn]}
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
            <Badge size="xs" variant="default" title={texts.builtInHint}>
              {texts.builtIn}
            </Badge>
          )}
        </span>
      </th>
      <td data-label={texts.description}>
        <span className="clamp dim break">{describeRole(roles, name)}</span>
      </td>
      <td data-label={texts.permissions} className={classes.number}>
        <UnstyledButton
          className={classes.count}
          title={listPermissions(permissions)}
          aria-label={texts.permissionsOf(permissions.length, name)}
          onClick={() => setOpen('role')}
        >
          {permissions.length}
        </UnstyledButton>
      </td>
      <td data-label={texts.assignedIn}>
        <span className="dim">{isForProjects ? texts.anyProject : texts.allProjects}</span>
      </td>
      <td className={classes.acts}>
        <MoreMenu label={texts.moreActionsForRole(name)} size={24}>
          <Menu.Item
            leftSection={isBuiltIn ? <IconShieldLock size={14} /> : <IconPencil size={14} />}
            onClick={() => setOpen('role')}
          >
            {isBuiltIn ? texts.showPermissions : texts.editItem}
          </Menu.Item>
          <Menu.Item leftSection={<IconCopy size={14} />} onClick={() => setOpen('copy')}>
            {texts.duplicate}
          </Menu.Item>
          {!isBuiltIn && (
            <Menu.Item color="red" leftSection={<IconTrash size={14} />} onClick={() => setOpen('remove')}>
              {texts.removeItem}
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
      title={texts.askRemoveRole(name)}
      act={texts.remove}
      change={() => client.roles.remove({ name })}
      onClose={onClose}
    >
      {texts.removeRoleHint}
    </ConfirmAccessChange>
  )
}
