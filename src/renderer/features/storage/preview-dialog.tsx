import { Button } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { StoragePolicy, StoragePreview } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { Dialog, DialogFoot } from '../../ui/dialog.tsx'
import { FormFailure } from '../../ui/fields/form-failure.tsx'
import { formatBytes, formatCount } from '../../ui/numbers.ts'
import { notifyDone } from '../../ui/notify.tsx'
import { QueryState } from '../../ui/states.tsx'
import { KIND_WORDS } from './policy-rows.ts'
import classes from './storage.module.css'

const REASON_WORDS: Record<StoragePreview['protected'][number]['reason'], string> = {
  kept: 'kept by an operator',
  newest: 'newest of its spider and outcome',
  may_have_run_twice: 'may have run twice; kept until its age limit',
  schedule: 'among the last 30 runs of a schedule',
  dependency: 'another job waits for it',
  dedupe: 'its dedupe key has not expired',
  chain: 'a chain has not reacted to it yet'
}

interface PreviewDialogProps {
  policy: StoragePolicy
  revision: number
  /** The policy is saved when its preview is confirmed. */
  saves: boolean
  onClose: () => void
}

/** The dry run: what a policy would delete, and what it keeps and why. */
export function PreviewDialog({ policy, revision, saves, onClose }: PreviewDialogProps) {
  const { query } = useApi()
  const queryClient = useQueryClient()
  const preview = useQuery(query.storage.preview.queryOptions({ input: { policy }, gcTime: 0 }))
  const save = useMutation(
    query.storage.setPolicy.mutationOptions({
      onSuccess: (stored) => {
        queryClient.setQueryData(query.storage.policy.queryKey(), stored)
        void queryClient.invalidateQueries({ queryKey: query.storage.usage.queryKey() })
        notifyDone('The retention policy was saved.')
        onClose()
      }
    })
  )
  return (
    <Dialog opened onClose={onClose} title="Retention preview" size={720}>
      <QueryState query={preview} what="the preview" rows={6}>
        {(data) => (
          <>
            <p>
              {data.goes.length === 0
                ? 'Nothing would be deleted.'
                : `Frees ${data.isCut ? 'at least ' : ''}${formatBytes(data.freesBytes)}.`}
            </p>
            {data.goes.length > 0 && <Rows title="To be deleted" rows={data.goes} />}
            {data.protected.length > 0 && <Rows title="Over a limit, but kept" rows={data.protected} />}
          </>
        )}
      </QueryState>
      <FormFailure error={save.error} />
      <DialogFoot>
        <Button onClick={onClose}>{saves ? 'Cancel' : 'Close'}</Button>
        {saves && (
          <Button
            variant="filled"
            color="red"
            disabled={preview.data === undefined}
            loading={save.isPending}
            onClick={() => save.mutate({ revision, policy })}
          >
            {preview.data?.goes.length === 0 ? 'Save policy' : 'Save policy and delete'}
          </Button>
        )}
      </DialogFoot>
    </Dialog>
  )
}

function Rows({
  title,
  rows
}: {
  title: string
  rows: (StoragePreview['goes'][number] & { reason?: keyof typeof REASON_WORDS })[]
}) {
  return (
    <div className={classes.scroll}>
      <table className={classes.table}>
        <caption>{title}</caption>
        <thead>
          <tr>
            <th scope="col">Project</th>
            <th scope="col">Kind</th>
            <th scope="col" className={classes.number}>
              Count
            </th>
            <th scope="col" className={classes.number}>
              Size
            </th>
            <th scope="col">{rows[0]?.reason === undefined ? 'Date range' : 'Reason'}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={`${row.project} ${row.kind} ${row.reason}`}>
              <th scope="row">{row.project}</th>
              <td>{KIND_WORDS[row.kind]}</td>
              <td className={classes.number}>{formatCount(row.count)}</td>
              <td className={classes.number}>{formatBytes(row.bytes)}</td>
              <td>
                {row.reason === undefined
                  ? `${dayOf(row.oldestMs)} – ${dayOf(row.newestMs)}`
                  : REASON_WORDS[row.reason]}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const days = new Intl.DateTimeFormat('en', { year: 'numeric', month: 'short', day: 'numeric' })
const dayOf = (atMs: number | null) => (atMs === null ? '' : days.format(atMs))
