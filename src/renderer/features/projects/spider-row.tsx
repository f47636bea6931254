import { ActionIcon, Button, Menu, Tooltip } from '@mantine/core'
import { IconAdjustmentsHorizontal, IconAlertTriangleFilled, IconBug, IconPlayerPlay } from '@tabler/icons-react'
import { Link, useNavigate } from '@tanstack/react-router'
import type { Job, Project, SpiderFindings, JobId } from '../../../shared/contract/index.ts'
import { useMay } from '../../api/use-me.ts'
import { openRunDialog } from '../../state/open-dialogs.ts'
import { MoreMenu } from '../../ui/more-menu.tsx'
import { TellMeItems } from '../../ui/tell-me.tsx'
import { LastRun } from './last-run.tsx'
import { useMutation } from '@tanstack/react-query'
import { ownParts } from '../../../shared/job-defaults.ts'
import { useApi } from '../../api/api.tsx'
import type { Client } from '../../api/wire.ts'
import { inheritedBy, stillInherited } from '../../ui/fields/inherited.ts'
import { notifyError, notifyLink } from '../../ui/notify.tsx'
import { texts } from '../../../shared/texts/ui/projects.ts'

interface SpiderRowProps {
  project: Project
  spider: string
  /** The spider's newest job, if it is recent. */
  last: Job | undefined
  unusual: SpiderFindings | undefined
}

/** A click runs the spider with the values of its last run. A Shift-click or the adjacent button opens the dialog. */
export function SpiderRow({ project, spider, last, unusual }: SpiderRowProps) {
  const { may } = useMay('jobs.run', { project: project.name })
  const { isPending, runNow } = useRunNow(project, spider)
  const lastTime = withArguments(last)
  const runWith = () => openRunDialog({ project: project.name, spiders: [spider] })
  return (
    <li>
      <span className="ellipsis grow medium" title={spider}>
        {spider}
      </span>
      {unusual !== undefined && <Unusual of={unusual} />}
      <LastRun job={last} />
      <span className="inline">
        <MoreMenu label={texts.moreActionsFor(spider)} size={28}>
          <Menu.Item
            leftSection={<IconBug size={14} />}
            component={Link}
            to="/errors"
            search={{ project: project.name, spider } as never}
          >
            {texts.errorsOfSpider}
          </Menu.Item>
          <TellMeItems of={{ project: project.name, spider }} />
        </MoreMenu>
        {may && (
          <>
            <Tooltip label={texts.runNowHint(lastTime)} multiline maw={360}>
              <Button
                size="compact-xs"
                leftSection={<IconPlayerPlay size={12} />}
                loading={isPending}
                onClick={(event) => (event.shiftKey ? runWith() : runNow())}
                aria-label={texts.runSpiderNamed(spider)}
                aria-keyshortcuts="Enter Shift+Enter"
              >
                {texts.run}
              </Button>
            </Tooltip>
            <Tooltip label={texts.runWithHint}>
              <ActionIcon size={28} variant="default" onClick={runWith} aria-label={texts.runWith(spider)}>
                <IconAdjustmentsHorizontal size={14} />
              </ActionIcon>
            </Tooltip>
          </>
        )}
      </span>
    </li>
  )
}

function Unusual({ of: { jobId, findings } }: { of: SpiderFindings }) {
  const words = findings.map((finding) => finding.words).join('; ')
  return (
    <Tooltip label={words} multiline maw={360}>
      <Link to="/jobs" search={{ job: jobId }} aria-label={texts.unusualRun(words)}>
        <IconAlertTriangleFilled size={13} className="tone-wait" aria-hidden />
      </Link>
    </Tooltip>
  )
}

/**
 * Runs a spider with the arguments, settings and variables of its newest job. If the job has secrets, opens the
 * dialog to ask for them, because the engine never returns secret values.
 */
function useRunNow({ name: project, settings }: Pick<Project, 'name' | 'settings'>, spider: string) {
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
      notifyLink(texts.queued(`${project}/${spider}`, withArguments(job)), texts.openJob, () => {
        void go({ to: '/jobs', search: { job: id, tab: 'log' } })
      })
    },
    onError: (error) => notifyError(texts.couldNotRun(project, spider), error)
  })
  return { isPending, runNow: () => mutate() }
}

async function ownValues(client: Client, id: JobId) {
  const { args, settings, env, secretNames, withoutDefaults } = ownParts(await client.jobs.get({ id }))
  return { args, settings, env, secretNames, withoutDefaults }
}

const SHOWN_MAX = 80

/** `page=2 day=2026-11-22` */
function withArguments(job: Pick<Job, 'args' | 'secretNames'> | undefined): string {
  const args = Object.entries(job?.args ?? {})
  if (args.length === 0) return ''
  const text = args.map(([name, value]) => `${name}=${value}`).join(' ')
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text
}
