import { IconLock } from '@tabler/icons-react'
import { type Job, SECRET_MASK } from '../../../shared/contract/index.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { FieldRow } from '../../ui/panel.tsx'
import { formatInstant } from '../../ui/time.tsx'
import classes from './job-detail-pane.module.css'

const SOURCE_WORDS: Record<Job['source'], string> = {
  ui: 'from this app',
  api: 'over the API',
  scrapyd: 'by a Scrapyd client',
  demo: 'as the demo',
  retry: 'as a retry of another job',
  adopted: 'on the node itself; taken over from there'
}

/** What was asked for, exactly. */
export function JobArguments({ job, nodeName }: { job: Job; nodeName: (id: string) => string }) {
  const { nodeId, tags } = job.placement
  const where =
    nodeId !== null
      ? nodeName(nodeId)
      : tags.length > 0
        ? `nodes with ${tags.map((tag) => `#${tag}`).join(' ')}`
        : 'any node'
  return (
    <>
      <Values
        title="Arguments"
        values={job.args}
        secretNames={job.secretNames}
        none="The spider was given no arguments."
      />
      <Values
        title="Settings"
        values={job.settings}
        secretNames={job.secretNames}
        none="No settings beside the project’s own."
      />
      <section>
        <h2 className={classes.sectionTitle}>Asked for</h2>
        <FieldRow label="When">
          {formatInstant(job.queuedAtMs)}, {SOURCE_WORDS[job.source]}
        </FieldRow>
        <FieldRow label="Version">{job.version ?? 'the latest when it is sent'}</FieldRow>
        <FieldRow label="Where">{where}</FieldRow>
        <FieldRow label="Priority">{job.priority}</FieldRow>
        <FieldRow label="Job id">
          <span className="mono">{job.id}</span> <CopyButton value={job.id} what="the job id" />
        </FieldRow>
        {job.jobid !== job.id && (
          <FieldRow label="Scrapyd jobid">
            <span className="mono">{job.jobid}</span> <CopyButton value={job.jobid} what="the jobid" />
          </FieldRow>
        )}
      </section>
    </>
  )
}

function Values({
  title,
  values,
  secretNames,
  none
}: {
  title: string
  values: Record<string, string>
  secretNames: readonly string[]
  none: string
}) {
  const entries = Object.entries(values)
  return (
    <section>
      <h2 className={classes.sectionTitle}>{title}</h2>
      {entries.length === 0 ? (
        <p className="dim">{none}</p>
      ) : (
        <table className={classes.table}>
          <tbody>
            {entries.map(([key, value]) => (
              <tr key={key}>
                <th scope="row">{key}</th>
                <td className="mono">
                  {secretNames.includes(key) ? (
                    <span className={classes.secret} title="Secret: its value is not shown again">
                      <IconLock size={13} role="img" aria-label="Secret" /> {SECRET_MASK}
                    </span>
                  ) : (
                    value
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}
