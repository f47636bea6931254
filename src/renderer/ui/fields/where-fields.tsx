import { NumberInput, SegmentedControl, Select, TextInput } from '@mantine/core'
import { useId } from 'react'
import type { Node } from '../../../shared/contract/index.ts'
import { TagCheck } from './tag-check.tsx'
import classes from './where-fields.module.css'

interface WhereForm {
  readonly where: 'any' | 'tags' | 'node'
  readonly nodeId: string | null
  readonly tags: string
  readonly priority: number
}

interface WhereFieldsProps {
  form: WhereForm
  nodes: readonly Node[]
  onChange: (patch: Partial<WhereForm>) => void
}

/** Which nodes may run it, and how soon. */
export function WhereFields({ form, nodes, onChange }: WhereFieldsProps) {
  const id = useId()
  return (
    <>
      <div className={classes.where}>
        <div>
          <span className={classes.label} id={`${id}-where`}>
            Where
          </span>
          <SegmentedControl
            aria-labelledby={`${id}-where`}
            value={form.where}
            onChange={(where) => onChange({ where })}
            data={[
              { value: 'any', label: 'Any node' },
              { value: 'tags', label: 'By tag' },
              { value: 'node', label: 'One node' }
            ]}
          />
        </div>
        {form.where === 'node' && (
          <Select
            aria-label="Node"
            placeholder="Choose a node"
            searchable
            value={form.nodeId}
            onChange={(nodeId) => onChange({ nodeId })}
            data={nodes.map((node) => ({ value: node.id, label: node.name }))}
          />
        )}
        {form.where === 'tags' && (
          <TextInput
            className={classes.tags}
            aria-label="Tags"
            placeholder="eu|us !slow"
            title="All must hold: eu|us is one of both, !slow is not slow"
            value={form.tags}
            onChange={(event) => onChange({ tags: event.currentTarget.value })}
            classNames={{ input: 'mono' }}
            aria-describedby={`${id}-tags`}
            spellCheck={false}
            autoFocus={form.tags === ''}
          />
        )}
        <NumberInput
          className={classes.priority}
          label="Priority"
          value={form.priority}
          onChange={(value) => onChange({ priority: Number(value) || 0 })}
          title="Higher goes first; 0 is usual"
        />
      </div>
      {form.where === 'tags' && (
        <TagCheck id={`${id}-tags`} text={form.tags} nodes={nodes} onChange={(tags) => onChange({ tags })} />
      )}
    </>
  )
}
