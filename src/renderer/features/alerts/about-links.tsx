import type { Alert } from '../../../shared/contract/index.ts'
import { LinkButton } from '../../ui/link-button.tsx'

/** Leads to what an alert is about, the narrowest thing first. */
export function AboutLinks({ alert: { labels, watch } }: { alert: Alert }) {
  const { project, spider, jobId, scheduleId, errorGroupId, nodeId } = labels
  return (
    <>
      {errorGroupId !== null && (
        <LinkButton to="/errors" search={{ group: errorGroupId }}>
          Open error
        </LinkButton>
      )}
      {jobId !== null && (
        <LinkButton to="/jobs" search={{ job: jobId }}>
          Open job
        </LinkButton>
      )}
      {scheduleId !== null && (
        <LinkButton to="/schedules" search={{ schedule: scheduleId }}>
          Open schedule
        </LinkButton>
      )}
      {nodeId !== null && (
        <LinkButton to="/nodes" search={{ node: nodeId }}>
          Open node
        </LinkButton>
      )}
      {project !== null && spider !== null && (
        <LinkButton to="/jobs" search={{ project, spider }}>
          Jobs of the spider
        </LinkButton>
      )}
      {project !== null && spider === null && (
        <LinkButton to="/projects" search={{ project }}>
          Open project
        </LinkButton>
      )}
      {watch === 'queue_length' && <LinkButton to="/queue">Open queue</LinkButton>}
      {watch === 'disk_free' && <LinkButton to="/settings">Open storage</LinkButton>}
      {(watch === 'service_problem' || watch === 'certificate_days') && <LinkButton to="/">Open overview</LinkButton>}
    </>
  )
}
