import { ActionIcon, Autocomplete, Button, Group, NumberInput, Stack } from '@mantine/core'
import { IconPlus, IconX } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ProjectName, type StoragePolicy, type StorageUsage } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { optionsOf } from '../../ui/fields/choice-field.tsx'
import { formatBytes } from '../../ui/numbers.ts'
import { notifyDone, notifyError } from '../../ui/notify.tsx'
import { Panel } from '../../ui/panel.tsx'
import { QueryState } from '../../ui/states.tsx'
import { Select } from '../../ui/fields/select.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import { COUNT_WORDS, KIND_WORDS, type Kind, KINDS, type PolicyRow, policyOfRows, rowsOf } from './policy-rows.ts'
import { PreviewDialog } from './preview-dialog.tsx'
import classes from './storage.module.css'
import { texts } from '../../../shared/texts/ui/storage.ts'

type Stored = { revision: number; policy: StoragePolicy }

/** A change can be saved only from its preview. */
export function RetentionPanel({ usage }: { usage: StorageUsage | undefined }) {
  const { query } = useApi()
  const stored = useQuery(query.storage.policy.queryOptions())
  return (
    <Panel
      title={texts.retention}
      note={usage && <RunState run={usage.retention} />}
      aside={usage && <RunButtons usage={usage} />}
    >
      <QueryState query={stored} what={texts.theRetentionPolicy} rows={6}>
        {(data) => (
          // A new revision resets the form, because the form's edits apply to the old one.
          <PolicyEditor
            key={data.revision}
            stored={data}
            projects={usage?.projects.map(({ project }) => project) ?? []}
          />
        )}
      </QueryState>
    </Panel>
  )
}

function RunState({ run }: { run: StorageUsage['retention'] }) {
  if (run.state === 'not_set') return texts.retentionNotSet
  if (run.state === 'paused') return texts.retentionPaused
  const deleted = KINDS.flatMap((kind) => (run[kind] === 0 ? [] : [COUNT_WORDS[kind](run[kind])])).join(', ')
  if (run.state === 'running')
    return deleted === '' ? texts.deletingNothingYet : texts.deleting(deleted, formatBytes(run.freedBytes))
  if (run.problem !== null) return <span className="tone-bad">{texts.retentionFailed(run.problem)}</span>
  if (run.endedAtMs === null) return texts.retentionHourly
  const age = <RelativeTime atMs={run.endedAtMs} />
  return deleted === ''
    ? texts.lastRunDeletedNothing(age)
    : texts.lastRunDeleted(age, deleted, formatBytes(run.freedBytes))
}

function RunButtons({ usage }: { usage: StorageUsage }) {
  const { client, query } = useApi()
  const queryClient = useQueryClient()
  const { state } = usage.retention
  const run = useMutation(
    query.storage.run.mutationOptions({
      onSuccess: ({ started }) => notifyDone(started ? texts.retentionStarted : texts.retentionAlreadyRunning),
      onError: (error) => notifyError(texts.couldNotStartRetention, error)
    })
  )
  const pause = useMutation({
    mutationFn: async (paused: boolean) => {
      const { revision, policy } = await client.storage.policy()
      return client.storage.setPolicy({ revision, policy: { ...policy, paused } })
    },
    onSuccess: (saved) => {
      queryClient.setQueryData(query.storage.policy.queryKey(), saved)
      return queryClient.invalidateQueries({ queryKey: query.storage.usage.queryKey() })
    },
    onError: (error) => notifyError(texts.couldNotChangeRetention, error)
  })
  if (state === 'not_set') return null
  return (
    <>
      <Button
        variant="subtle"
        size="compact-xs"
        loading={pause.isPending}
        onClick={() => pause.mutate(state !== 'paused')}
      >
        {state === 'paused' ? texts.resume : texts.pause}
      </Button>
      {state !== 'paused' && (
        <Button
          variant="subtle"
          size="compact-xs"
          loading={run.isPending || state === 'running'}
          onClick={() => run.mutate({})}
        >
          {texts.runNow}
        </Button>
      )}
    </>
  )
}

function PolicyEditor({ stored, projects }: { stored: Stored; projects: string[] }) {
  const [rows, setRows] = useState(() => rowsOf(stored.policy))
  const [budget, setBudget] = useState(stored.policy.budgetBytes)
  const [isPreviewing, setPreviewing] = useState(false)
  const policy = { ...policyOfRows(stored.policy, rows), budgetBytes: budget }
  const isSet = stored.revision > 0
  const isDirty =
    JSON.stringify(policy) !==
    JSON.stringify({ ...policyOfRows(stored.policy, rowsOf(stored.policy)), budgetBytes: stored.policy.budgetBytes })
  const change = (index: number, over: Partial<PolicyRow>) =>
    setRows(rows.map((row, at) => (at === index ? { ...row, ...over } : row)))
  return (
    <Stack gap={10}>
      {!isSet && <p className="dim">{texts.noPolicyHint}</p>}
      <div className={classes.scroll}>
        <table className={classes.table}>
          <thead>
            <tr>
              <th scope="col">{texts.appliesTo}</th>
              <th scope="col">{texts.kind}</th>
              <th scope="col">{texts.days}</th>
              <th scope="col">{texts.newestPerSpider}</th>
              <th scope="col">{texts.sizePerProject}</th>
              <th>
                <span className="visually-hidden">{texts.remove}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <tr key={`${row.project} ${row.kind}`}>
                <th scope="row">{row.project ?? <span className="dim">{texts.allProjects}</span>}</th>
                <td>{KIND_WORDS[row.kind]}</td>
                <td>
                  <Amount
                    label={labelOf(row, texts.daysAmount)}
                    value={row.days}
                    onChange={(days) => change(index, { days })}
                  />
                </td>
                <td>
                  <Amount
                    label={labelOf(row, row.kind === 'eggs' ? texts.newestVersionsAmount : texts.newestPerSpiderAmount)}
                    value={row.newest}
                    onChange={(newest) => change(index, { newest })}
                  />
                </td>
                <td>
                  {row.kind !== 'eggs' && (
                    <Amount
                      label={labelOf(row, texts.gigabytesAmount)}
                      value={row.gigabytes}
                      suffix=" GB"
                      onChange={(gigabytes) => change(index, { gigabytes })}
                    />
                  )}
                </td>
                <td>
                  {row.project !== null && (
                    <ActionIcon
                      aria-label={texts.removePolicy(row.project, KIND_WORDS[row.kind])}
                      onClick={() => setRows(rows.filter((_, at) => at !== index))}
                    >
                      <IconX size={14} />
                    </ActionIcon>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <AddRow rows={rows} projects={projects} onAdd={(row) => setRows([...rows, row])} />
      <Group align="end" gap={8}>
        <Amount
          label={texts.diskBudget}
          showsLabel
          value={budget === null ? null : budget / 1e9}
          suffix=" GB"
          onChange={(gigabytes) =>
            setBudget(gigabytes === null ? null : Math.max(1_000_000, Math.round(gigabytes * 1e9)))
          }
        />
        <span className="dim">{texts.diskBudgetHint}</span>
      </Group>
      <p className="faint">{texts.noLimitHint}</p>
      <Group gap={8} justify="flex-end">
        {isDirty && (
          <>
            <span className="dim" role="status">
              {texts.unsavedChanges}
            </span>
            <Button
              variant="subtle"
              color="gray"
              onClick={() => {
                setRows(rowsOf(stored.policy))
                setBudget(stored.policy.budgetBytes)
              }}
            >
              {texts.discardChanges}
            </Button>
          </>
        )}
        <Button variant={isDirty || !isSet ? 'filled' : 'default'} onClick={() => setPreviewing(true)}>
          {isDirty ? texts.previewAndSave : isSet ? texts.preview : texts.previewAndTurnOn}
        </Button>
      </Group>
      {isPreviewing && (
        <PreviewDialog
          policy={policy}
          revision={stored.revision}
          saves={isDirty || !isSet}
          onClose={() => setPreviewing(false)}
        />
      )}
    </Stack>
  )
}

const labelOf = ({ project, kind }: PolicyRow, label: (project: string, kind: string) => string) =>
  label(project ?? texts.allProjects, KIND_WORDS[kind])

interface AmountProps {
  label: string
  showsLabel?: boolean
  value: number | null
  suffix?: string
  onChange: (value: number | null) => void
}

function Amount({ label, showsLabel = false, value, suffix, onChange }: AmountProps) {
  return (
    <NumberInput
      {...(showsLabel ? { label } : { 'aria-label': label })}
      className={classes.amount}
      size="xs"
      hideControls
      allowNegative={false}
      allowDecimal={suffix !== undefined}
      min={suffix === undefined ? 1 : 0.001}
      placeholder={texts.noLimit}
      thousandSeparator=","
      value={value ?? ''}
      {...(suffix === undefined ? {} : { suffix })}
      onChange={(entered) => onChange(typeof entered === 'number' && entered > 0 ? entered : null)}
    />
  )
}

interface AddRowProps {
  rows: readonly PolicyRow[]
  projects: string[]
  onAdd: (row: PolicyRow) => void
}

function AddRow({ rows, projects, onAdd }: AddRowProps) {
  const [project, setProject] = useState('')
  const [kind, setKind] = useState<Kind>('logs')
  const name = ProjectName.safeParse(project.trim()).data
  const isTaken = rows.some((row) => row.project === name && row.kind === kind)
  return (
    <Group align="end" gap={8}>
      <Autocomplete
        size="xs"
        aria-label={texts.project}
        placeholder={texts.project}
        data={projects}
        value={project}
        onChange={setProject}
      />
      <Select
        size="xs"
        aria-label={texts.kind}
        allowDeselect={false}
        data={optionsOf(KIND_WORDS)}
        value={kind}
        onChange={(value) => setKind(value as Kind)}
      />
      <Button
        variant="subtle"
        size="xs"
        leftSection={<IconPlus size={13} />}
        disabled={name === undefined || isTaken}
        onClick={() => {
          if (name === undefined) return
          const same = rows.find((row) => row.project === null && row.kind === kind)!
          onAdd({ ...same, project: name })
          setProject('')
        }}
      >
        {texts.addProjectPolicy}
      </Button>
    </Group>
  )
}
