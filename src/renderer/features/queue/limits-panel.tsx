import { ActionIcon, Autocomplete, Button, Group, NumberInput } from '@mantine/core'
import { IconArrowsSplit2, IconPlus, IconX } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useEffectEvent, useId } from 'react'
import { LimitRule, type ProjectName, NewLimitRule } from '../../../shared/contract/index.ts'
import { versionOf } from '../../../shared/version-of.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { FormFailure } from '../../ui/fields/form-failure.tsx'
import { type Fields, useFormOf } from '../../ui/fields/form-of-schema.ts'
import { SchemaForm } from '../../ui/fields/schema-form.tsx'
import { notifyUndo } from '../../ui/notify.tsx'
import { Panel } from '../../ui/panel.tsx'
import { EmptyState, QueryState } from '../../ui/states.tsx'
import classes from './queue-screen.module.css'
import { Select } from '../../ui/fields/select.tsx'
import { optionsOf } from '../../ui/fields/choice-field.tsx'
import { z } from 'zod'
import { numberText, textOrNull } from '../../ui/fields/texts.ts'
import { texts } from '../../../shared/texts/ui/queue.ts'

type LiveRule = LimitRule & { live: number }

export function LimitsPanel() {
  const { query } = useApi()
  // The change feed has the rules but not the numbers of live runs, so the open panel polls.
  const limits = useQuery(query.queue.limits.queryOptions({ refetchInterval: 2_000, staleTime: 0 }))
  return (
    <QueryState query={limits} what={texts.theLimits} rows={4}>
      {(data) => <LimitsEditor rules={data.limits} />}
    </QueryState>
  )
}

function LimitsEditor({ rules }: { rules: readonly LiveRule[] }) {
  const { client, query } = useApi()
  const { may } = useMay('limits.change')
  const queryClient = useQueryClient()
  const names = useNames()
  const form = useFormOf({
    schema: LimitsForm,
    start: () => ({ limits: rules.map(textsOfRule) }),
    save: async (asked) => {
      const before = rules.map(({ live: _live, ...rule }) => rule)
      const saved = await client.queue.setLimits(asked)
      queryClient.setQueryData(query.queue.limits.queryKey(), saved)
      form.restart({ limits: saved.limits.map(textsOfRule) })
      notifyUndo(texts.limitsSaved, () => client.queue.setLimits({ limits: before }))
    }
  })
  const { limits } = form.values
  // Shows changes saved elsewhere, unless the user is editing here.
  const saved = JSON.stringify(rules.map(textsOfRule))
  const showSaved = useEffectEvent(() => {
    if (!form.isDirty) form.restart({ limits: JSON.parse(saved) })
  })
  useEffect(() => showSaved(), [saved])
  const add = () => form.change({ limits: [...limits, newRule()] })

  return (
    <Panel
      title={texts.limits}
      note={limits.length === 0 ? undefined : texts.limitsNote}
      flush
      aside={
        may && (
          <Button variant="subtle" size="compact-xs" leftSection={<IconPlus size={13} />} onClick={add}>
            {texts.addLimit}
          </Button>
        )
      }
    >
      {limits.length === 0 ? (
        <EmptyState
          icon={<IconArrowsSplit2 size={28} stroke={1.4} />}
          title={form.isDirty ? texts.allLimitsRemoved : texts.noLimits}
          action={may && !form.isDirty && <Button onClick={add}>{texts.addLimit}</Button>}
        >
          {texts.limitsHint}
        </EmptyState>
      ) : (
        <SchemaForm form={form}>
          <table className={classes.rules}>
            <thead>
              <tr>
                <th scope="col">{texts.project}</th>
                <th scope="col">{texts.spiders}</th>
                <th scope="col">{texts.nodeTag}</th>
                <th scope="col">{texts.scope}</th>
                <th scope="col" className={classes.number}>
                  {texts.maximum}
                </th>
                <th scope="col" className={classes.number}>
                  {texts.live}
                </th>
                <th>
                  <span className="visually-hidden">{texts.remove}</span>
                </th>
              </tr>
            </thead>
            {limits.map((rule, index) => (
              <RuleRow
                key={rule.id}
                fields={form.within('limits').within(index)}
                number={index + 1}
                live={rules.find(({ id }) => id === rule.id)}
                names={names}
                onRemove={() => form.change({ limits: limits.filter(({ id }) => id !== rule.id) })}
              />
            ))}
          </table>
        </SchemaForm>
      )}
      {form.isDirty && (
        <Group gap={8} justify="flex-end" className={classes.save}>
          <FormFailure error={form.failure} />
          <span className="dim" role="status">
            {form.isRefused ? texts.correctMarkedFields : texts.unsavedChanges}
          </span>
          <Button variant="subtle" color="gray" onClick={() => form.restart({ limits: rules.map(textsOfRule) })}>
            {texts.discardChanges}
          </Button>
          <Button variant="filled" loading={form.isSaving} onClick={() => form.submit()}>
            {texts.saveLimits}
          </Button>
        </Group>
      )}
    </Panel>
  )
}

interface RuleRowProps {
  fields: Fields<RuleTexts>
  number: number
  live: LiveRule | undefined
  names: { projects: string[]; spiders: (project: ProjectName) => string[]; tags: string[] }
  onRemove: () => void
}

function RuleRow({ fields, number, live, names, onRemove }: RuleRowProps) {
  const { values } = fields
  const { may } = useMay('limits.change')
  const rule = RuleForm.safeParse(values).data
  const id = useId()
  const problem = fields.error('max')
  const isFull = live !== undefined && live.live >= live.max
  const isEmpty = values.project === '' && values.spider === ''
  return (
    <tbody>
      <tr>
        <td data-label={texts.project}>
          <Autocomplete
            {...fields.input('project')}
            disabled={!may}
            aria-label={texts.projectLabel(number)}
            placeholder={texts.projectPlaceholder}
            data={names.projects}
            autoFocus={live === undefined && isEmpty}
            openOnFocus={false}
          />
        </td>
        <td data-label={texts.spiders}>
          <Autocomplete
            {...fields.input('spider')}
            disabled={!may}
            aria-label={texts.spidersLabel(number)}
            placeholder={texts.spidersPlaceholder}
            data={names.spiders(values.project as ProjectName)}
            limit={50}
            openOnFocus={false}
          />
        </td>
        <td data-label={texts.nodeTag}>
          <Autocomplete
            {...fields.input('tag')}
            disabled={!may}
            aria-label={texts.nodeTagLabel(number)}
            placeholder={texts.nodeTagPlaceholder}
            data={names.tags}
            openOnFocus={false}
          />
        </td>
        <td data-label={texts.scope}>
          <Select
            aria-label={texts.scopeLabel(number)}
            disabled={!may}
            allowDeselect={false}
            value={values.perNode ? 'node' : 'fleet'}
            onChange={(value) => fields.change({ perNode: value === 'node' })}
            data={optionsOf({ fleet: texts.combined, node: texts.perNode })}
          />
        </td>
        <td data-label={texts.maximum} className={classes.number}>
          <NumberInput
            {...fields.input('max')}
            disabled={!may}
            aria-label={texts.maximumLabel(number)}
            aria-describedby={`${id}-sentence`}
            error={problem !== undefined}
            min={0}
            max={1_000_000}
            allowDecimal={false}
          />
        </td>
        <td className={`${classes.number} ${classes.live}`}>
          {live === undefined ? (
            <span className="faint">–</span>
          ) : (
            <span className={isFull ? 'tone-wait' : undefined} title={liveWords(live)}>
              {live.live}
              <span className={isFull ? undefined : 'faint'}>/{live.max}</span>
            </span>
          )}
        </td>
        <td>
          {may && (
            <ActionIcon aria-label={texts.removeLimit(number)} onClick={onRemove}>
              <IconX size={14} />
            </ActionIcon>
          )}
        </td>
      </tr>
      <tr className={classes.sentence}>
        <td colSpan={7} id={`${id}-sentence`}>
          {problem !== undefined ? (
            <span className="tone-bad">{texts.maximumWrong(problem)}</span>
          ) : rule === undefined ? (
            <span className="dim">{texts.maximumMissing}</span>
          ) : (
            <>
              {ruleSentence(rule)}
              {isFull && live.max > 0 && (
                <span className="tone-wait"> · {live.perNode ? texts.reachedOnBusiestNode : texts.reached}</span>
              )}
            </>
          )}
        </td>
      </tr>
    </tbody>
  )
}

function useNames() {
  const { query } = useApi()
  const projects = useQuery(query.projects.list.queryOptions()).data?.projects ?? []
  const tags = useQuery(
    query.nodes.list.queryOptions({ select: ({ nodes }) => [...new Set(nodes.flatMap((node) => node.tags))].sort() })
  ).data
  return {
    projects: projects.map(({ name }) => name),
    spiders: (project: ProjectName) => [
      ...new Set(
        projects
          .filter(({ name }) => project === '' || name === project)
          .flatMap((each) => versionOf(each)?.spiders ?? [])
      )
    ],
    tags: tags ?? []
  }
}

interface RuleTexts {
  id: string
  project: string
  spider: string
  tag: string
  perNode: boolean
  max: number | string
}

export const textsOfRule = ({ id, project, spider, tag, perNode, max }: LimitRule): RuleTexts => ({
  id,
  project: project ?? '',
  spider: spider ?? '',
  tag: tag ?? '',
  perNode,
  max
})

export function newRule(): RuleTexts {
  const id = [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return { id, project: '', spider: '', tag: '', perNode: false, max: '' }
}

export const RuleForm = z.object({
  id: z.string(),
  project: textOrNull,
  spider: textOrNull,
  tag: textOrNull.pipe(NewLimitRule.shape.tag),
  perNode: z.boolean(),
  max: numberText(LimitRule.shape.max)
}) as never as z.ZodType<LimitRule, RuleTexts>
const LimitsForm: z.ZodType<{ limits: LimitRule[] }, { limits: RuleTexts[] }> = z.object({
  limits: z.array(RuleForm)
})

/** `at most 1 run of amazon* on each node`. */
export function ruleSentence({ project, spider, tag, perNode, max }: Omit<LimitRule, 'id'>): string {
  return texts.limitSentence(max, nullIfAll(project), nullIfAll(spider), tag, perNode)
}

const nullIfAll = (pattern: string | null) => (pattern === null || /^\*+$/.test(pattern) ? null : pattern)

/** `3 of 40`. For a per-node rule, the highest number on any node. */
export function liveWords({ perNode, max, live }: LimitRule & { live: number }): string {
  return perNode ? texts.liveOfMaxOnBusiestNode(live, max) : texts.liveOfMax(live, max)
}
