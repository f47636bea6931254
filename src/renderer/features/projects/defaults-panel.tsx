import { Button } from '@mantine/core'
import { useState } from 'react'
import type { Project } from '../../../shared/contract/index.ts'
import { useMay } from '../../api/use-me.ts'
import { FieldRow, Panel } from '../../ui/panel.tsx'
import { useNodeName } from '../../ui/use-node-name.ts'
import { DefaultsDialog } from './defaults-dialog.tsx'
import { describeDefaults } from './defaults-form.ts'

/** What every order of the project and of single spiders starts from. */
export function DefaultsPanel({ project }: { project: Project }) {
  const { may } = useMay('projects.change', { project: project.name })
  const [isEditing, setEditing] = useState(false)
  const { defaults, spiderDefaults } = project.settings
  const nodeName = useNodeName()
  const ofProject = describeDefaults(defaults, nodeName)
  const ofSpiders = Object.entries(spiderDefaults)
  return (
    <Panel
      title="Defaults"
      note="for new jobs"
      aside={
        may && (
          <Button variant="subtle" size="compact-xs" onClick={() => setEditing(true)}>
            Edit defaults…
          </Button>
        )
      }
    >
      <FieldRow label="All spiders">{ofProject ?? <span className="dim">none</span>}</FieldRow>
      {ofSpiders.map(([spider, one]) => (
        <FieldRow key={spider} label={spider}>
          {describeDefaults(one, nodeName)}
        </FieldRow>
      ))}
      {isEditing && <DefaultsDialog project={project} onClose={() => setEditing(false)} />}
    </Panel>
  )
}
