import { Button, Group, Stack } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconAlertTriangle, IconHistory, IconInfoCircle } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { AlertRulePreview, AlertRuleSettings } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { explainError } from '../../api/explain-error.ts'
import { useNow } from '../../ui/clock.ts'
import { formatInstant } from '../../ui/time.tsx'
import { formatMoment } from '../../ui/moment.ts'
import { lengthWords } from './alert-words.ts'
import classes from './rule-preview.module.css'
import { texts } from '../../../shared/texts/ui/alerts.ts'

const DAYS = 14
const SETTLED_AFTER_MS = 400

interface RulePreviewProps {
  rule: Omit<AlertRuleSettings, 'enabled'> | null
  why: string | null
}

/** After the first request, the preview follows changes in the form. */
export function RulePreview({ rule, why }: RulePreviewProps) {
  const { query } = useApi()
  const [isAsked, setAsked] = useState(false)
  const condition = useMemo(() => rule && conditionOf(rule), [rule])
  const [settled] = useDebouncedValue(condition, SETTLED_AFTER_MS)
  const wanted = settled ?? condition
  const preview = useQuery({
    ...query.alertRules.preview.queryOptions({ input: wanted! }),
    enabled: isAsked && condition !== null && wanted !== null && why === null,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    retry: false
  })
  const isOld = preview.isPlaceholderData || JSON.stringify(wanted) !== JSON.stringify(condition)
  return (
    <section className={classes.preview} aria-label={texts.previewOnPast}>
      {!isAsked ? (
        <Group gap="4px 10px">
          <Button
            size="compact-xs"
            leftSection={<IconHistory size={13} />}
            disabled={why !== null || rule === null}
            title={why ?? undefined}
            onClick={() => setAsked(true)}
          >
            {texts.previewOnPast}
          </Button>
          <span className="dim">{rule === null ? texts.previewNeedsRule : texts.previewHint(DAYS)}</span>
        </Group>
      ) : rule === null ? (
        <p className="dim">{texts.previewNeedsCorrection}</p>
      ) : preview.isError && !isOld ? (
        <div className={classes.problem} role="alert">
          <IconAlertTriangle size={14} className="tone-bad" aria-hidden />
          <span>{texts.previewFailed(explainError(preview.error).text)}</span>
          <Button size="compact-xs" loading={preview.isFetching} onClick={() => void preview.refetch()}>
            {texts.retry}
          </Button>
        </div>
      ) : preview.data === undefined ? (
        <p className="dim" role="status">
          {texts.previewLoading(DAYS)}
        </p>
      ) : (
        <Result preview={preview.data} isOld={isOld} />
      )}
    </section>
  )
}

/** Only the fields that decide whether the rule fires: changes to other fields need no request. */
const conditionOf = (rule: Omit<AlertRuleSettings, 'enabled'>) => ({
  name: 'preview',
  channels: [],
  days: DAYS,
  watch: rule.watch,
  comparison: rule.comparison,
  threshold: rule.threshold,
  forSeconds: rule.forSeconds,
  severity: rule.severity,
  project: rule.project,
  spider: rule.spider,
  scheduleId: rule.scheduleId,
  nodeId: rule.nodeId,
  nodeTag: rule.nodeTag
})

function Result({ preview, isOld }: { preview: AlertRulePreview; isOld: boolean }) {
  const { fired, alerts, isComplete, note } = preview
  const nowMs = useNow()
  return (
    <Stack gap={6} className={classes.result} data-old={isOld || undefined} aria-busy={isOld}>
      <p role="status">
        <strong>{firedWords(preview)}</strong>
        {isOld && <span className="dim">{texts.previewReloading}</span>}
      </p>
      {(!isComplete || note !== '') && (
        <p className={classes.problem}>
          {isComplete ? (
            <IconInfoCircle size={14} className="dim" aria-hidden />
          ) : (
            <IconAlertTriangle size={14} className="tone-wait" aria-hidden />
          )}
          <span>{noteWords(preview)}</span>
        </p>
      )}
      {alerts.length > 0 && (
        <div className={`${classes.list} box`}>
          <table aria-label={texts.previewTable}>
            <tbody>
              {alerts.map(({ subject, text, firedAtMs, resolvedAtMs }, index) => (
                <tr key={index}>
                  <td title={formatInstant(firedAtMs)}>{formatMoment(firedAtMs - (firedAtMs % 60_000), nowMs)}</td>
                  <td>
                    <strong className="semibold">{subject}</strong>
                    {text !== subject && <span className="dim"> {text}</span>}
                  </td>
                  <td>
                    {resolvedAtMs === null ? texts.stillFiring : texts.lastedFor(lengthWords(resolvedAtMs - firedAtMs))}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {fired > alerts.length && <p className="dim">{texts.newestListed(alerts.length, fired)}</p>}
    </Stack>
  )
}

/** `Would have fired 3 times in the last 14 days` */
function firedWords({ fired, isComplete }: AlertRulePreview): string {
  if (fired === 0) return isComplete ? texts.wouldNotHaveFired(DAYS) : texts.foundNothing(DAYS)
  return isComplete ? texts.wouldHaveFired(fired, DAYS) : texts.wouldHaveFiredAtLeast(fired, DAYS)
}

function noteWords({ isComplete, note }: AlertRulePreview): string {
  const sentence = note === '' || /[.!?]$/.test(note) ? note : `${note}.`
  return isComplete ? sentence : `${texts.previewIncomplete(DAYS)} ${sentence}`.trim()
}
