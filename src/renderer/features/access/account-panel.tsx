import { Button } from '@mantine/core'
import { useState } from 'react'
import type { Me } from '../../../shared/contract/index.ts'
import { FieldRow, Panel } from '../../ui/panel.tsx'
import { ChangePasswordDialog } from './password-dialogs.tsx'
import { ROLE_WORDS } from './role-words.ts'

/** Of somebody who is logged in as a user, not with the service's own password. */
export function AccountPanel({ me: { name, role } }: { me: Me }) {
  const [isChanging, setChanging] = useState(false)
  return (
    <Panel
      title="Your account"
      aside={
        <Button size="compact-xs" onClick={() => setChanging(true)}>
          Change password…
        </Button>
      }
    >
      <FieldRow label="Name">{name}</FieldRow>
      <FieldRow label="Role">
        {role} <span className="dim">· {ROLE_WORDS[role].toLowerCase()}</span>
      </FieldRow>
      {isChanging && <ChangePasswordDialog onClose={() => setChanging(false)} />}
    </Panel>
  )
}
