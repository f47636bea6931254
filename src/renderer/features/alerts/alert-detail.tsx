import { Button, Flex, Group } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Alert, AlertFigureHistory, AlertLogExcerpt } from '../../../shared/contract/index.ts'
import { formatAge } from '../../../shared/time.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { editAlertRule } from '../../state/open-dialogs.ts'
import { PaneHead, DetailPane, FieldRow, PaneTitle } from '../../ui/panel.tsx'
import { SeverityText, SEVERITY_LOOK } from '../../ui/severity.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import { AlertState, lastedMs } from './alert-columns.tsx'
import { conditionWords, FLAPPING_TEXT, MUTED, valueWords } from './alert-words.ts'
import { isOpen } from './use-alert-actions.ts'
import { useNames } from './use-names.ts'
import { LinkButton } from '../../ui/link-button.tsx'
import { Link } from '@tanstack/react-router'
import { useHasOperation } from '../../state/remote-engines.ts'
import { BarChart } from '../../ui/charts/bar-chart.tsx'
import { LogLines } from '../../ui/log-lines.tsx'
import { QueryState } from '../../ui/states.tsx'
import { texts } from '../../../shared/texts/ui/alerts.ts'
import { texts as watches } from '../../../shared/texts/ui/watches.ts'

interface AlertDetailProps {
  alert: Alert
  onAcknowledge: () => void
  onTakeBack: () => void
  onSilence: () => void
  onClose: () => void
}

export const placeOf = ({ project }: { project: string | null }) => (project === null ? 'everywhere' : { project })

export function AlertDetail({ alert, onAcknowledge, onTakeBack, onSilence, onClose }: AlertDetailProps) {
  const { query } = useApi()
  const names = useNames()
  const { may } = useMay('alerts.answer', placeOf(alert.labels))
  const rule = useQuery(query.alertRules.list.queryOptions()).data?.rules.find(({ id }) => id === alert.ruleId)
  const mayChange = useMay('alerts.change', placeOf(rule ?? alert.labels)).may
  const lasted = lastedMs(alert)
  const value = valueWords(alert)
  const mend = alert.state === 'resolved' ? null : watches[`mend.${alert.watch}`]
  return (
    <DetailPane label={texts.alert} isWide>
      <PaneHead what={texts.alertNoun} onClose={onClose}>
        <AlertState alert={alert} />
      </PaneHead>
      <PaneTitle title={alert.subject}>
        <p>{alert.text}</p>
      </PaneTitle>
      {mend !== null && (
        <section>
          <h3>{texts.whatToDo}</h3>
          <p>{mend}</p>
        </section>
      )}
      <Group gap={8}>
        {may && isOpen(alert) && (
          <Button variant="filled" title={texts.acknowledgeHint} onClick={onAcknowledge}>
            {texts.acknowledge}
          </Button>
        )}
        {may && alert.state === 'firing' && (
          <Button title={texts.silenceHint} onClick={onSilence}>
            {texts.silence}
          </Button>
        )}
        <AboutLinks alert={alert} />
      </Group>
      <div>
        {alert.state === 'resolved' && (
          <FieldRow label={texts.severity}>
            <SeverityText severity={alert.severity} />
          </FieldRow>
        )}
        {value !== null && <FieldRow label={texts.figure}>{value}</FieldRow>}
        <FieldRow label={texts.since}>
          <RelativeTime atMs={alert.sinceMs} ago />
        </FieldRow>
        {alert.firedAtMs !== null && alert.firedAtMs - alert.sinceMs >= 1000 && (
          <FieldRow label={texts.fired}>
            <RelativeTime atMs={alert.firedAtMs} ago />
          </FieldRow>
        )}
        {lasted !== null && (
          <FieldRow label={texts.endedLabel}>
            {texts.endedFor(<RelativeTime atMs={alert.resolvedAtMs} ago />, formatAge(lasted))}
          </FieldRow>
        )}
        <FieldRow label={texts.acknowledged}>
          {alert.acknowledged === null ? (
            <span className="dim">{texts.notYet}</span>
          ) : (
            <Group gap="2px 8px">
              <span>{texts.byAgo(alert.acknowledged.by, <RelativeTime atMs={alert.acknowledged.atMs} ago />)}</span>
              {may && alert.state === 'firing' && (
                <Button size="compact-xs" title={texts.unacknowledgeHint} onClick={onTakeBack}>
                  {texts.unacknowledge}
                </Button>
              )}
            </Group>
          )}
        </FieldRow>
        {alert.muted !== null && <FieldRow label={texts.muted}>{MUTED[alert.muted].text}</FieldRow>}
        {alert.isFlapping && <FieldRow label={texts.flappingLabel}>{FLAPPING_TEXT}</FieldRow>}
        <FieldRow label={texts.rule}>
          {alert.ruleName}
          {rule === undefined ? (
            <span className="dim">{texts.ruleRemoved}</span>
          ) : (
            <span className="dim">{texts.ruleCondition(conditionWords(rule, names))}</span>
          )}
        </FieldRow>
        {alert.owner !== '' && <FieldRow label={texts.owner}>{alert.owner}</FieldRow>}
      </div>
      {rule !== undefined && mayChange && (
        <Group>
          <Button onClick={() => editAlertRule(rule)}>{texts.editRule}</Button>
        </Group>
      )}
      <AlertEvidence alert={alert} />
    </DetailPane>
  )
}

function AboutLinks({ alert: { labels, watch } }: { alert: Alert }) {
  const { project, spider, jobId, scheduleId, errorGroupId, nodeId } = labels
  return (
    <>
      {errorGroupId !== null && (
        <LinkButton to="/errors" search={{ group: errorGroupId }}>
          {texts.openError}
        </LinkButton>
      )}
      {jobId !== null && (
        <LinkButton to="/jobs" search={{ job: jobId }}>
          {texts.openJob}
        </LinkButton>
      )}
      {scheduleId !== null && (
        <LinkButton to="/schedules" search={{ schedule: scheduleId }}>
          {texts.openSchedule}
        </LinkButton>
      )}
      {nodeId !== null && (
        <LinkButton to="/nodes" search={{ node: nodeId }}>
          {texts.openNode}
        </LinkButton>
      )}
      {project !== null && spider !== null && (
        <LinkButton to="/jobs" search={{ project, spider }}>
          {texts.jobsOfSpider}
        </LinkButton>
      )}
      {project !== null && spider === null && (
        <LinkButton to="/projects" search={{ project }}>
          {texts.openProject}
        </LinkButton>
      )}
      {watch === 'queue_length' && <LinkButton to="/queue">{texts.openQueue}</LinkButton>}
      {watch === 'disk_free' && <LinkButton to="/settings">{texts.openStorage}</LinkButton>}
      {(watch === 'service_problem' || watch === 'certificate_days') && (
        <LinkButton to="/">{texts.openOverview}</LinkButton>
      )}
    </>
  )
}

function AlertEvidence({ alert }: { alert: Alert }) {
  const has = useHasOperation()
  // An alert that continues with another run has new evidence, so the component must mount again.
  return has('alerts.evidence') ? <Shown key={`${alert.id} ${alert.labels.jobId}`} alert={alert} /> : null
}

function Shown({ alert: { id, severity } }: { alert: Alert }) {
  const { query } = useApi()
  const read = useQuery(query.alerts.evidence.queryOptions({ input: { id }, staleTime: 0 }))
  return (
    <QueryState query={read} what={texts.evidence} rows={3}>
      {({ log, history }) => (
        <>
          {history !== null && <History history={history} severity={severity} />}
          {log !== null && <LastLines log={log} />}
        </>
      )}
    </QueryState>
  )
}

function History({ history: { bars, ...rest }, severity }: { history: AlertFigureHistory } & Pick<Alert, 'severity'>) {
  const tones = { past: 'off', now: SEVERITY_LOOK[severity].tone, failed: 'bad', succeeded: 'ok' } as const
  return <BarChart {...rest} bars={bars.map(({ value, tone }) => ({ value, tone: tones[tone] }))} />
}

function LastLines({ log: { subject, jobId, lines } }: { log: AlertLogExcerpt }) {
  const title = texts.lastLogLines(subject)
  return (
    <section>
      <Flex component="header" align="baseline" justify="space-between" gap={10} mb={2}>
        <h3>{title}</h3>
        <Link to="/logs" search={{ jobs: [jobId], job: jobId }} className="small fixed">
          {texts.openLog}
        </Link>
      </Flex>
      <LogLines label={title} lines={lines} maxHeight={220} />
    </section>
  )
}
