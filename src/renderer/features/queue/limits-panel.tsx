import { ActionIcon, Autocomplete, Button, NumberInput, Select } from '@mantine/core'
import { IconArrowsSplit2, IconPlus, IconX } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { LimitRule } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { FormFailure } from '../../ui/fields/form-failure.tsx'
import { notifyUndo } from '../../ui/notify.tsx'
import { Panel } from '../../ui/panel.tsx'
import { EmptyState, QueryState } from '../../ui/states.tsx'
import { formOfRule, isSameRules, liveWords, newRule, readRule, type RuleForm, ruleSentence } from './limit-rules.ts'
import classes from './queue-screen.module.css'

type LiveRule = LimitRule & { live: number }

/** The limits as a table to edit, each with how many runs count against it now. Nothing holds until it is saved. */
export function LimitsPanel() {
  const { query } = useApi()
  // What is live changes with each job; the rules themselves come as changes.
  // No change tells how many runs of a limit are live: asked for when it is opened, and then again and again.
  const limits = useQuery(query.queue.limits.queryOptions({ refetchInterval: 2_000, staleTime: 0 }))
  return (
    <QueryState query={limits} what="the limits" rows={4}>
      {(data) => <LimitsEditor rules={data.limits} />}
    </QueryState>
  )
}

function LimitsEditor({ rules }: { rules: readonly LiveRule[] }) {
  const { client, query } = useApi()
  const queryClient = useQueryClient()
  const [draft, setDraft] = useState<readonly RuleForm[] | null>(null)
  const names = useNames()
  const forms = draft ?? rules.map(formOfRule)
  const isChanged = draft !== null && !isSameRules(draft, rules)
  const read = forms.map(readRule)
  const problem = read.find((each) => 'problem' in each)
  const { mutate, isPending, error, reset } = useMutation({
    mutationFn: (limits: LimitRule[]) => client.queue.setLimits({ limits }),
    onSuccess: (saved) => {
      const before = rules.map(({ live: _live, ...rule }) => rule)
      queryClient.setQueryData(query.queue.limits.queryKey(), saved)
      setDraft(null)
      notifyUndo('The limits hold from now on. Runs that are over one go on.', () =>
        client.queue.setLimits({ limits: before })
      )
    }
  })
  const change = (next: readonly RuleForm[]) => {
    reset()
    setDraft(next)
  }
  const set = (id: string, patch: Partial<RuleForm>) =>
    change(forms.map((form) => (form.id === id ? { ...form, ...patch } : form)))
  const add = () => change([...forms, newRule()])
  const save = () => mutate(read.flatMap((each) => ('rule' in each ? [each.rule] : [])))

  return (
    <Panel
      title="Limits"
      note={forms.length === 0 ? undefined : 'a run must keep all of them'}
      flush
      aside={
        <Button variant="subtle" size="compact-xs" leftSection={<IconPlus size={13} />} onClick={add}>
          Add a limit
        </Button>
      }
    >
      {forms.length === 0 ? (
        <EmptyState
          icon={<IconArrowsSplit2 size={28} stroke={1.4} />}
          title={isChanged ? 'No limits any more, once saved' : 'No limits'}
          action={isChanged ? undefined : <Button onClick={add}>Add a limit</Button>}
        >
          A limit says how many runs may be live at once: of a project, of the spiders of one site, on nodes with a tag,
          or on each node. What is over it waits and says so.
        </EmptyState>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            if (isChanged && problem === undefined) save()
          }}
        >
          <table className={classes.rules}>
            <thead>
              <tr>
                <th scope="col">Project</th>
                <th scope="col">Spiders</th>
                <th scope="col">Nodes tagged</th>
                <th scope="col">Counted</th>
                <th scope="col" className={classes.number}>
                  At most
                </th>
                <th scope="col" className={classes.number}>
                  Live now
                </th>
                <th>
                  <span className="visually-hidden">Remove</span>
                </th>
              </tr>
            </thead>
            {forms.map((form, index) => (
              <RuleRow
                key={form.id}
                form={form}
                number={index + 1}
                live={rules.find(({ id }) => id === form.id)}
                names={names}
                isNew={!rules.some(({ id }) => id === form.id)}
                onChange={(patch) => set(form.id, patch)}
                onRemove={() => change(forms.filter(({ id }) => id !== form.id))}
              />
            ))}
          </table>
        </form>
      )}
      {isChanged && (
        <div className={classes.save}>
          <FormFailure error={error} />
          <span className="dim" role="status">
            {problem === undefined
              ? 'Not saved yet: the limits of before still hold.'
              : 'Not saved yet: a limit is not complete.'}
          </span>
          <Button variant="subtle" color="gray" onClick={() => change(rules.map(formOfRule))}>
            Discard
          </Button>
          <Button variant="filled" loading={isPending} disabled={problem !== undefined} onClick={save}>
            Save the limits
          </Button>
        </div>
      )}
    </Panel>
  )
}

interface RuleRowProps {
  form: RuleForm
  number: number
  live: LiveRule | undefined
  names: { projects: string[]; spiders: (project: string) => string[]; tags: string[] }
  isNew: boolean
  onChange: (patch: Partial<RuleForm>) => void
  onRemove: () => void
}

/** A row of fields, and under it what they mean. */
function RuleRow({ form, number, live, names, isNew, onChange, onRemove }: RuleRowProps) {
  const read = readRule(form)
  const isFull = live !== undefined && live.live >= live.max
  return (
    <tbody>
      <tr>
        <td data-label="Project">
          <Autocomplete
            aria-label={`Project of limit ${number}`}
            placeholder="all"
            data={names.projects}
            value={form.project}
            onChange={(project) => onChange({ project })}
            autoFocus={isNew && form.project === '' && form.spider === ''}
            openOnFocus={false}
          />
        </td>
        <td data-label="Spiders">
          <Autocomplete
            aria-label={`Spiders of limit ${number}`}
            placeholder="all, or price*"
            data={names.spiders(form.project)}
            limit={50}
            value={form.spider}
            onChange={(spider) => onChange({ spider })}
            openOnFocus={false}
          />
        </td>
        <td data-label="Nodes tagged">
          <Autocomplete
            aria-label={`Tag of limit ${number}`}
            placeholder="any"
            data={names.tags}
            value={form.tag}
            onChange={(tag) => onChange({ tag })}
            openOnFocus={false}
          />
        </td>
        <td data-label="Counted">
          <Select
            aria-label={`How limit ${number} is counted`}
            allowDeselect={false}
            value={form.perNode ? 'node' : 'fleet'}
            onChange={(value) => onChange({ perNode: value === 'node' })}
            data={[
              { value: 'fleet', label: 'together' },
              { value: 'node', label: 'on each node' }
            ]}
          />
        </td>
        <td data-label="At most" className={classes.number}>
          <NumberInput
            aria-label={`At most, of limit ${number}`}
            min={0}
            max={1_000_000}
            allowDecimal={false}
            value={form.max}
            onChange={(max) => onChange({ max: typeof max === 'number' ? max : '' })}
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
          <ActionIcon aria-label={`Remove limit ${number}`} onClick={onRemove}>
            <IconX size={14} />
          </ActionIcon>
        </td>
      </tr>
      <tr className={classes.sentence}>
        <td colSpan={7}>
          {'problem' in read ? (
            <span className={isNew ? 'dim' : 'tone-bad'}>{read.problem}</span>
          ) : (
            <>
              {ruleSentence(read.rule)}
              {isFull && live.max > 0 && (
                <span className="tone-wait"> · reached{live.perNode ? ' on the fullest node' : ''}</span>
              )}
            </>
          )}
        </td>
      </tr>
    </tbody>
  )
}

/** Names to suggest, of what is there. */
function useNames() {
  const { query } = useApi()
  const projects = useQuery(query.projects.list.queryOptions()).data?.projects ?? []
  const tags = useQuery(
    query.nodes.list.queryOptions({ select: ({ nodes }) => [...new Set(nodes.flatMap((node) => node.tags))].sort() })
  ).data
  return {
    projects: projects.map(({ name }) => name),
    spiders: (project: string) => [
      ...new Set(
        projects
          .filter(({ name }) => project === '' || name === project)
          .flatMap(
            ({ latestVersion, versions }) => versions.find(({ version }) => version === latestVersion)?.spiders ?? []
          )
      )
    ],
    tags: tags ?? []
  }
}
