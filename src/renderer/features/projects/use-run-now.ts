import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { Job, JobId, Project } from '../../../shared/contract/index.ts'
import { ownParts } from '../../../shared/job-defaults.ts'
import { useApi } from '../../api/api.tsx'
import type { Client } from '../../api/wire.ts'
import { openRunDialog } from '../../state/open-run-dialog.ts'
import { inheritedBy, stillInherited } from '../../ui/fields/inherited.ts'
import { notifyError, notifyLink } from '../../ui/notify.tsx'

/**
 * Runs a spider of the project now, with the arguments, settings and variables that the order of its newest job named.
 * Their secret values are never shown again: if there are any, this opens the dialog, which asks for them.
 */
export function useRunNow({ name: project, settings }: Pick<Project, 'name' | 'settings'>, spider: string) {
  const { client } = useApi()
  const go = useNavigate()
  const { mutate, isPending } = useMutation({
    mutationFn: async () => {
      const [last] = (await client.jobs.list({ project, spider, limit: 1 })).jobs
      const order = { project, spiders: [spider], ...(last && (await ownValues(client, last.id))) }
      const left = stillInherited(order.withoutDefaults ?? [], inheritedBy(settings, [spider]))
      const prefill = { ...order, withoutDefaults: left }
      if (prefill.secretNames !== undefined && prefill.secretNames.length > 0) return openRunDialog(prefill)
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

async function ownValues(client: Client, id: JobId) {
  const { args, settings, env, secretNames, withoutDefaults } = ownParts(await client.jobs.get({ id }))
  return { args, settings, env, secretNames, withoutDefaults }
}

const SHOWN_MAX = 80

/** ` with page=2 day=2026-11-22`; empty without arguments. */
export function withArguments(job: Pick<Job, 'args' | 'secretNames'> | undefined): string {
  const args = Object.entries(job?.args ?? {})
  if (args.length === 0) return ''
  const text = args.map(([name, value]) => `${name}=${value}`).join(' ')
  return ` with ${text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text}`
}
