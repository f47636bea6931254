import { NumberInput, Select, TextInput } from '@mantine/core'
import { useId } from 'react'
import type { Node } from '../../../shared/contract/index.ts'
import type { Fields } from './form-of-schema.ts'
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
}

/** Which nodes may run it, and how soon. */
export function WhereFields({ fields, nodes }: WhereFieldsProps) {
  const id = useId()
  const { where, tags } = fields.values
  return (
    <>
      <div className={classes.where}>
        <ChoiceField
          {...fields.input('where')}
          label="Nodes"
          data={optionsOf({ any: 'Any node', tags: 'By tag', node: 'One node' })}
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
          title="Higher runs first. Default: 0"
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
