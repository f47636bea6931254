import { Button } from '@mantine/core'
import { useState } from 'react'
import type { Me } from '../../../shared/contract/index.ts'
import { FieldRow, Panel } from '../../ui/panel.tsx'
import { ChangePasswordDialog } from './password-dialogs.tsx'
import { ROLE_WORDS } from './role-words.ts'

/** Of somebody who is logged in as a user, not with the service's own password. */
export function AccountPanel({ me: { name, everywhere, projects } }: { me: Me }) {
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
        {everywhere === null ? (
          'in these projects only'
        ) : (
          <>
            {everywhere} <span className="dim">· {ROLE_WORDS[everywhere].toLowerCase()}</span>
          </>
        )}
      </FieldRow>
      {Object.entries(projects).map(([project, one]) => (
        <FieldRow key={project} label={project}>
          {one} <span className="dim">· {ROLE_WORDS[one].toLowerCase()}</span>
        </FieldRow>
      ))}
      {isChanging && <ChangePasswordDialog onClose={() => setChanging(false)} />}
    </Panel>
  )
}
