import { Select } from './select.tsx'
import { Group, NumberInput, Stack, TextInput } from '@mantine/core'
import { useId } from 'react'
import type { Node, Placement } from '../../../shared/contract/index.ts'
import type { Fields } from './form-of-schema.ts'
import { type Inherited, ORIGIN_TEXTS } from './inherited.ts'
import type { JobTexts } from './job-form.ts'
import classes from './where-fields.module.css'
import { optionsOf, ChoiceField } from './choice-field.tsx'
import { usePriorityLimit } from './priority-limit.ts'
import { CODE_INPUT } from './code-input.ts'
import { matchWords, parseTagExpression } from './tag-expression.ts'
import form from './form.module.css'
import { texts } from '../../../shared/texts/ui/shared.ts'

type WhereTexts = Pick<JobTexts, 'where' | 'nodeId' | 'tags' | 'priority'>

interface WhereFieldsProps {
  fields: Fields<WhereTexts>
  nodes: readonly Node[]
  inherited: Pick<Inherited, 'placement' | 'priority'>
  /** Only a run can replace inherited nodes with "any node", and an inherited priority with 0. */
  of: 'run' | 'defaults' | 'template'
  /** For defaults: the current priority, which stays allowed. */
  keptPriority?: number
}

export function WhereFields({ fields, nodes, inherited, of, keptPriority = 0 }: WhereFieldsProps) {
  const id = useId()
  const { where, tags, priority } = fields.values
  const { placement, priority: usual } = inherited
  const limit = usePriorityLimit(of === 'defaults' ? 'projects.change' : 'queue.order', keptPriority)
  const isTooHigh = limit.max !== undefined && Number(priority) > limit.max
  const isOverruled = of === 'template' && priority !== '' && Number(priority) === 0 && usual !== null
  const underPriority = () => {
    if (isOverruled) return texts.zeroPriorityHint(ORIGIN_TEXTS[usual.origin], usual.value)
    if (priority === '' && usual !== null) return ORIGIN_TEXTS[usual.origin]
    return isTooHigh ? null : limit.reason
  }
  const choices = optionsOf<WhereTexts['where']>({
    default: placement === null ? texts.anyNode : texts.defaultPlacement(placementWords(placement, nodes)),
    any: texts.anyNode,
    tags: texts.byTag,
    node: texts.oneNode
  })
  const isAnyOffered = of === 'run' && placement !== null
  const shown = where === 'any' && !isAnyOffered ? 'default' : where
  return (
    <>
      <Group align="flex-start" gap="10px 12px">
        <ChoiceField
          {...fields.input('where')}
          label={texts.nodes}
          data={choices.filter(({ value }) => value !== 'any' || isAnyOffered)}
          value={shown}
          note={shown === 'default' && placement !== null ? ORIGIN_TEXTS[placement.origin] : null}
        />
        {where === 'node' && (
          <Select
            {...fields.input('nodeId')}
            label={texts.node}
            placeholder={texts.chooseNode}
            searchable
            data={nodes.map((node) => ({ value: node.id, label: node.name }))}
          />
        )}
        {where === 'tags' && (
          <TextInput
            {...fields.input('tags')}
            flex={1}
            miw={140}
            label={texts.tags}
            placeholder="eu|us !slow"
            title={texts.tagExpressionTitle}
            error={fields.error('tags') !== undefined}
            {...CODE_INPUT}
            aria-describedby={`${id}-tags`}
            autoFocus={tags === ''}
          />
        )}
        <NumberInput
          {...fields.input('priority')}
          className={`${classes.priority} push`}
          data-limited={limit.max !== undefined || undefined}
          label={texts.priority}
          placeholder={String(usual?.value ?? 0)}
          {...(limit.max !== undefined && { max: limit.max })}
          {...(isTooHigh && { error: limit.reason })}
          description={underPriority()}
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          title={limit.title ?? texts.priorityHint(usual?.value ?? 0)}
        />
      </Group>
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

function placementWords({ nodeId, tags }: Placement, nodes: readonly Node[]): string {
  if (nodeId !== null) return nodes.find(({ id }) => id === nodeId)?.name ?? nodeId
  return tags.map((tag) => `#${tag}`).join(' ')
}

const TAGS_SHOWN = 16

interface TagCheckProps {
  id: string
  text: string
  problem: string | undefined
  nodes: readonly Node[]
  onChange: (text: string) => void
}

function TagCheck({ id, text, problem, nodes, onChange }: TagCheckProps) {
  const read = parseTagExpression(text)
  const known = [...new Set(nodes.flatMap(({ tags }) => tags))].sort().slice(0, TAGS_SHOWN)
  const match = 'terms' in read && read.terms.length > 0 ? matchWords(read.terms, nodes) : null
  return (
    <Stack gap={6} mt={-4}>
      <span id={id} role="status" className={problem !== undefined ? 'tone-bad' : match?.isEmpty ? 'tone-wait' : 'dim'}>
        {problem ?? match?.text ?? texts.tagExpressionHint}
      </span>
      {known.length > 0 && (
        <span className={form.suggestions}>
          {known.map((tag) => (
            <button
              key={tag}
              type="button"
              onClick={() => onChange(text.trim() === '' ? tag : `${text.trim()} ${tag}`)}
            >
              {tag}
            </button>
          ))}
        </span>
      )}
    </Stack>
  )
}
