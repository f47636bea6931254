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
import { readersLocale } from '../../../shared/locale.ts'
import { texts } from '../../../shared/texts/ui/storage.ts'

const REASON_WORDS: Record<StoragePreview['protected'][number]['reason'], string> = {
  kept: texts.protectedByOperator,
  newest: texts.protectedNewest,
  may_have_run_twice: texts.protectedMayHaveRunTwice,
  schedule: texts.protectedSchedule,
  dependency: texts.protectedDependency,
  dedupe: texts.protectedDedupe,
  chain: texts.protectedChain
}

interface PreviewDialogProps {
  policy: StoragePolicy
  revision: number
  saves: boolean
  onClose: () => void
}

export function PreviewDialog({ policy, revision, saves, onClose }: PreviewDialogProps) {
  const { query } = useApi()
  const queryClient = useQueryClient()
  const preview = useQuery(query.storage.preview.queryOptions({ input: { policy }, gcTime: 0 }))
  const save = useMutation(
    query.storage.setPolicy.mutationOptions({
      onSuccess: (stored) => {
        queryClient.setQueryData(query.storage.policy.queryKey(), stored)
        void queryClient.invalidateQueries({ queryKey: query.storage.usage.queryKey() })
        notifyDone(texts.policySaved)
        onClose()
      }
    })
  )
  return (
    <Dialog opened onClose={onClose} title={texts.retentionPreview} size={720}>
      <QueryState query={preview} what={texts.thePreview} rows={6}>
        {(data) => (
          <>
            <p>
              {data.goes.length === 0
                ? texts.previewEmpty
                : (data.isCut ? texts.freesAtLeast : texts.frees)(formatBytes(data.freesBytes))}
            </p>
            {data.goes.length > 0 && <Rows title={texts.toBeDeleted} rows={data.goes} />}
            {data.protected.length > 0 && <Rows title={texts.protectedTitle} rows={data.protected} />}
          </>
        )}
      </QueryState>
      <FormFailure error={save.error} />
      <DialogFoot>
        <Button onClick={onClose}>{saves ? texts.cancel : texts.close}</Button>
        {saves && (
          <Button
            variant="filled"
            color="red"
            disabled={preview.data === undefined}
            loading={save.isPending}
            onClick={() => save.mutate({ revision, policy })}
          >
            {preview.data?.goes.length === 0 ? texts.savePolicy : texts.savePolicyAndDelete}
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
            <th scope="col">{texts.project}</th>
            <th scope="col">{texts.kind}</th>
            <th scope="col" className={classes.number}>
              {texts.count}
            </th>
            <th scope="col" className={classes.number}>
              {texts.size}
            </th>
            <th scope="col">{rows[0]?.reason === undefined ? texts.dateRange : texts.reason}</th>
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

const days = new Intl.DateTimeFormat(readersLocale() ?? 'en-US', { year: 'numeric', month: 'short', day: 'numeric' })
const dayOf = (atMs: number | null) => (atMs === null ? '' : days.format(atMs))
