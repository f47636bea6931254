import { NumberInput, Select, TextInput } from '@mantine/core'
import { useId } from 'react'
import type { JobDefaults, Node } from '../../../shared/contract/index.ts'
import type { Fields } from './form-of-schema.ts'
import { type Origin, placementWords } from './inherited.ts'
import type { JobTexts } from './job-form.ts'
import { TagCheck } from './tag-check.tsx'
import classes from './where-fields.module.css'
import { optionsOf } from './options.ts'
import { ChoiceField } from './choice-field.tsx'
import { CODE_INPUT } from './code-input.ts'

type WhereTexts = Pick<JobTexts, 'where' | 'nodeId' | 'tags' | 'priority'>

interface WhereFieldsProps {
  fields: Fields<WhereTexts>
  nodes: readonly Node[]
  /** What applies if nothing is chosen here; absent: nothing is inherited. */
  inherited?: Pick<JobDefaults, 'nodeId' | 'tags' | 'priority'> | null
  origins?: { priority: Origin | null; placement: Origin | null }
}

/** Which nodes may run it, and how soon. */
export function WhereFields({ fields, nodes, inherited, origins }: WhereFieldsProps) {
  const id = useId()
  const { where, tags, priority } = fields.values
  const placement = placementWords(inherited ?? null, (node) => nodes.find((each) => each.id === node)?.name ?? node)
  const isOptional = inherited !== undefined
  const choices = optionsOf<WhereTexts['where']>({
    default: placement === null ? 'Any node' : `Default: ${placement}`,
    any: 'Any node',
    tags: 'By tag',
    node: 'One node'
  })
  // Without an inherited placement, the default is any node: one choice for both.
  const hidden = !isOptional ? 'default' : placement === null ? 'any' : null
  return (
    <>
      <div className={classes.where}>
        <ChoiceField
          {...fields.input('where')}
          label="Nodes"
          data={choices.filter(({ value }) => value !== hidden)}
          value={hidden === 'any' && where === 'any' ? 'default' : where}
          note={where === 'default' ? origins?.placement : null}
        />
        {where === 'node' && (
          <Select
            {...fields.input('nodeId')}
            aria-label="Node"
            placeholder="Choose a node"
            searchable
            data={nodes.map((node) => ({ value: node.id, label: node.name }))}
          />
        )}
        {where === 'tags' && (
          <TextInput
            {...fields.input('tags')}
            className={classes.tags}
            aria-label="Tags"
            placeholder="eu|us !slow"
            title="All terms must match: eu|us is either tag, !slow excludes slow"
            error={fields.error('tags') !== undefined}
            {...CODE_INPUT}
            aria-describedby={`${id}-tags`}
            autoFocus={tags === ''}
          />
        )}
        <NumberInput
          {...fields.input('priority')}
          className={classes.priority}
          label="Priority"
          placeholder={isOptional ? String(inherited?.priority ?? 0) : undefined}
          description={priority === '' ? origins?.priority : null}
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          title={`Higher runs first. Default: ${inherited?.priority ?? 0}`}
        />
      </div>
      {where === 'tags' && (
        <TagCheck
          id={`${id}-tags`}
          text={tags}
          problem={fields.error('tags')}
          nodes={nodes}
          onChange={(next) => fields.change({ tags: next })}
        />
      )}
    </>
  )
}
