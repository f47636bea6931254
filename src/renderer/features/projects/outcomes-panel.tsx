import { Button } from '@mantine/core'
import { useState } from 'react'
import type { Project } from '../../../shared/contract/index.ts'
import { describeOutcomeRules, outcomeRulesOf } from '../../../shared/outcome-rules.ts'
import { useMay } from '../../api/use-me.ts'
import { FieldRow, Panel } from '../../ui/panel.tsx'
import { SpiderOutcomesDialog } from './spider-outcomes-dialog.tsx'

/** When a run that closed well counts as failed: for all spiders, and for those with rules of their own. */
export function OutcomesPanel({ project }: { project: Project }) {
  const { may } = useMay('projects.change', { project: project.name })
  const [isEditing, setEditing] = useState(false)
  const { settings } = project
  const rulesOf = (spider: string) =>
    describeOutcomeRules(outcomeRulesOf(settings, spider)) ?? <span className="dim">no rules</span>
  return (
    <Panel
      title="Outcome rules"
      note="when a run that closed normally counts as failed"
      aside={
        may && (
          <Button variant="subtle" size="compact-xs" onClick={() => setEditing(true)}>
            Edit rules for a spider…
          </Button>
        )
      }
    >
      <FieldRow label="All spiders">
        {describeOutcomeRules(settings.outcome) ?? <span className="dim">no rules</span>}
      </FieldRow>
      {Object.keys(settings.spiderOutcomes).map((spider) => (
        <FieldRow key={spider} label={spider}>
          {rulesOf(spider)}
        </FieldRow>
      ))}
      {!settings.expectations && <FieldRow label="Expectations">off: runs are not compared with earlier ones</FieldRow>}
      {isEditing && <SpiderOutcomesDialog project={project} onClose={() => setEditing(false)} />}
    </Panel>
  )
}
