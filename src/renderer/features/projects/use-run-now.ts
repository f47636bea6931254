import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { Job, ProjectName } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { openRunDialog } from '../../state/open-run-dialog.ts'
import { notifyError, notifyLink } from '../../ui/notify.tsx'

/**
 * Runs a spider of the project now, with the arguments and settings of its newest job. Secret values are never shown
 * again, so a job that had some opens the dialog, which asks for them.
 */
export function useRunNow(project: ProjectName, spider: string) {
  const { client } = useApi()
  const go = useNavigate()
  const { mutate, isPending } = useMutation({
    mutationFn: async () => {
      const [last] = (await client.jobs.list({ project, spider, limit: 1 })).jobs
      const prefill = { project, spiders: [spider], args: last?.args ?? {}, settings: last?.settings ?? {} }
      if (last !== undefined && last.secretNames.length > 0) {
        openRunDialog({ ...prefill, secretNames: last.secretNames })
        return
      }
      const [job] = (await client.jobs.run(prefill)).jobs
      if (job === undefined) return
      const { id } = job
      notifyLink(`${project}/${spider} is queued${withArguments(job)}.`, 'Open job', () => {
        void go({ to: '/jobs', search: { job: id, tab: 'log' } })
      })
    },
    onError: (error) => notifyError(`Could not run ${project}/${spider}`, error)
  })
  return { isPending, runNow: () => mutate() }
}

const SHOWN_MAX = 80

/** ` with page=2 day=2026-11-22`; empty without arguments. */
export function withArguments(job: Pick<Job, 'args' | 'secretNames'> | undefined): string {
  const args = Object.entries(job?.args ?? {})
  if (args.length === 0) return ''
  const text = args.map(([name, value]) => `${name}=${value}`).join(' ')
  return ` with ${text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text}`
}
