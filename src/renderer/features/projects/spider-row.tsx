import { ActionIcon, Button, Menu, Tooltip } from '@mantine/core'
import { IconAdjustmentsHorizontal, IconAlertTriangleFilled, IconBug, IconPlayerPlay } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import type { Job, Project, SpiderFindings } from '../../../shared/contract/index.ts'
import { useMay } from '../../api/use-me.ts'
import { openRunDialog } from '../../state/open-run-dialog.ts'
import { MoreMenu } from '../../ui/more-menu.tsx'
import { TellMeItems } from '../../ui/tell-me.tsx'
import { LastRun } from './last-run.tsx'
import classes from './projects.module.css'
import { useRunNow, withArguments } from './use-run-now.ts'

interface SpiderRowProps {
  project: Project
  spider: string
  /** Its newest job, if it is recent. */
  last: Job | undefined
  /** What is unusual about its newest successful run. */
  unusual: SpiderFindings | undefined
}

/** One click runs it as last time; Shift, or the button beside it, opens the dialog. */
export function SpiderRow({ project, spider, last, unusual }: SpiderRowProps) {
  const { may } = useMay('jobs.run', { project: project.name })
  const { isPending, runNow } = useRunNow(project, spider)
  const lastTime = withArguments(last)
  const runWith = () => openRunDialog({ project: project.name, spiders: [spider] })
  return (
    <li>
      <span className={classes.name} title={spider}>
        {spider}
      </span>
      {unusual !== undefined && <Unusual of={unusual} />}
      <LastRun job={last} />
      <span className={classes.runButtons}>
        <MoreMenu label={`More actions for ${spider}`} size={28}>
          <Menu.Item
            leftSection={<IconBug size={14} />}
            component={Link}
            to="/errors"
            search={{ project: project.name, spider } as never}
          >
            Errors of this spider
          </Menu.Item>
          <TellMeItems of={{ project: project.name, spider }} />
        </MoreMenu>
        {may && (
          <>
            <Tooltip
              label={`Run now${lastTime && `, last time${lastTime}`} (Shift: choose arguments)`}
              multiline
              maw={360}
            >
              <Button
                size="compact-xs"
                leftSection={<IconPlayerPlay size={12} />}
                loading={isPending}
                onClick={(event) => (event.shiftKey ? runWith() : runNow())}
                aria-label={`Run ${spider}`}
                aria-keyshortcuts="Enter Shift+Enter"
              >
                Run
              </Button>
            </Tooltip>
            <Tooltip label="Run with other arguments… (Shift+Enter)">
              <ActionIcon size={28} variant="default" onClick={runWith} aria-label={`Run ${spider} with…`}>
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
      <Link to="/jobs" search={{ job: jobId }} aria-label={`Unusual run: ${words}`}>
        <IconAlertTriangleFilled size={13} className="tone-wait" aria-hidden />
      </Link>
    </Tooltip>
  )
}
