import { Button, Flex, Group, Menu, Switch } from '@mantine/core'
import { IconCopy, IconTrash } from '@tabler/icons-react'
import { Link, useNavigate } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { occurrencesToShow } from '../../../../shared/calendar/index.ts'
import type { ProjectName, Schedule } from '../../../../shared/contract/index.ts'
import { describeTags } from '../../../../shared/tag-terms.ts'
import { formatDuration } from '../../../../shared/time.ts'
import { useMay } from '../../../api/use-me.ts'
import { TellMeItems, useMayTell } from '../../../ui/tell-me.tsx'
import { MoreMenu } from '../../../ui/more-menu.tsx'
import { PaneHead, DetailPane, FieldRow } from '../../../ui/panel.tsx'
import { formatInstant } from '../../../ui/time.tsx'
import { useNodeName } from '../../../ui/use-node-name.ts'
import { clockChangesOf } from '../clock-changes.ts'
import { NextRuns } from '../next-runs.tsx'
import { RemoveDialog, PauseDialog } from '../schedule-dialogs.tsx'
import { RunBars } from '../run-bars.tsx'
import {
  CATCH_UP_WORDS,
  jobsOf,
  jobsOfTemplate,
  lastFailed,
  missedLately,
  OVERLAP_WORDS,
  pausedWords,
  timingWords
} from '../schedule-words.ts'
import type { useScheduleActions } from '../use-schedule-actions.tsx'
import { BackfillDialog, BackfillProgress } from './backfill.tsx'
import { FiringList } from './firing-list.tsx'
import classes from './schedule-detail.module.css'
import { texts } from '../../../../shared/texts/ui/schedules.ts'

const NEXT_SHOWN = 10

interface ScheduleDetailProps {
  schedule: Schedule
  actions: ReturnType<typeof useScheduleActions>
  onEdit: () => void
  onClose: () => void
}

export function ScheduleDetail({ schedule, actions, onEdit, onClose }: ScheduleDetailProps) {
  const navigate = useNavigate()
  const { may } = useMay('schedules.change', schedule.jobs[0] ?? 'somewhere')
  const mayRun = useMay('jobs.run', schedule.jobs[0] ?? 'somewhere').may
  const [dialog, setDialog] = useState<'pause' | 'backfill' | 'remove' | null>(null)
  const watched = { scheduleId: schedule.id, project: onlyProjectOf(schedule) }
  const mayTell = useMayTell(watched)
  const isEnded = schedule.pausedBy === 'max_runs' || schedule.pausedBy === 'end'
  return (
    <DetailPane label={texts.scheduleNamed(schedule.name)}>
      <PaneHead
        what={texts.scheduleNoun}
        onClose={onClose}
        menu={
          (may || mayTell) && (
            <MoreMenu label={texts.moreActions} isVertical>
              {may && (
                <>
                  <Menu.Item
                    leftSection={<IconCopy size={14} />}
                    onClick={() => void navigate({ to: '/schedules', search: { edit: 'new', schedule: schedule.id } })}
                  >
                    {texts.duplicate}
                  </Menu.Item>
                  <Menu.Item leftSection={<IconTrash size={14} />} color="red" onClick={() => setDialog('remove')}>
                    {texts.removeItem}
                  </Menu.Item>
                </>
              )}
              <TellMeItems of={watched} />
            </MoreMenu>
          )
        }
      >
        <Switch
          size="xs"
          checked={!schedule.paused}
          aria-label={texts.on}
          disabled={!may}
          onChange={() => (schedule.paused ? void actions.setPaused([schedule], false) : setDialog('pause'))}
        />
        <strong className="ellipsis" title={schedule.name}>
          {schedule.name}
        </strong>
        <StateWord schedule={schedule} />
      </PaneHead>
      {schedule.paused && (
        <div
          className={`${classes.notice} ${schedule.pausedBy === 'operator' ? 'notice-wait' : 'notice-bad'} break`}
          role="status"
        >
          <div>
            <strong>{pausedWords(schedule)}</strong>
            {schedule.pauseNote !== null && <p>{schedule.pauseNote}</p>}
            {isEnded && <p>{texts.endedHint}</p>}
          </div>
          {may && !isEnded && <Button onClick={() => void actions.setPaused([schedule], false)}>{texts.resume}</Button>}
        </div>
      )}
      <MissedNotice schedule={schedule} onCatchUp={() => setDialog('backfill')} />
      {(may || mayRun) && (
        <Group gap={8}>
          {may && (
            <Button variant="light" onClick={onEdit}>
              {texts.edit}
            </Button>
          )}
          {mayRun && (
            <>
              <Button loading={actions.isRunning} onClick={() => actions.runNow([schedule])}>
                {texts.runNow}
              </Button>
              <Button disabled={schedule.backfill?.state === 'running'} onClick={() => setDialog('backfill')}>
                {texts.backfillItem}
              </Button>
            </>
          )}
          {may && !schedule.paused && <Button onClick={() => setDialog('pause')}>{texts.pauseItem}</Button>}
        </Group>
      )}
      {schedule.backfill !== null && <BackfillProgress schedule={schedule} backfill={schedule.backfill} />}
      <section className={classes.section}>
        <h2>{texts.when}</h2>
        <p>{timingWords(schedule)}</p>
        <Group align="stretch" gap={4} mb={6} className={classes.rules}>
          {schedule.rules.map(
            (rule, index) =>
              // For other kinds of rules, the text above is complete.
              rule.kind === 'cron' && (
                <code key={index} className="mono">
                  {rule.expression}
                </code>
              )
          )}
        </Group>
        <Upcoming schedule={schedule} />
      </section>
      <What schedule={schedule} />
      <Policies schedule={schedule} />
      <section className={classes.section}>
        <Flex component="header" justify="space-between">
          <h2>{texts.history}</h2>
          <Link to="/jobs" search={{ schedule: schedule.id }} className="text-link small">
            {texts.allJobs}
          </Link>
        </Flex>
        <RunBars firings={schedule.recent} />
        <FiringList scheduleId={schedule.id} zone={schedule.zone} />
      </section>
      {dialog === 'pause' && <PauseDialog schedule={schedule} actions={actions} onClose={() => setDialog(null)} />}
      {dialog === 'backfill' && <BackfillDialog schedule={schedule} onClose={() => setDialog(null)} />}
      {dialog === 'remove' && (
        <RemoveDialog schedules={[schedule]} actions={actions} onClose={() => setDialog(null)} onRemoved={onClose} />
      )}
    </DetailPane>
  )
}

function StateWord({ schedule }: { schedule: Schedule }) {
  if (schedule.paused) return <span className="tone-wait">{texts.pausedState}</span>
  if (lastFailed(schedule)) return <span className="tone-bad">{texts.lastRunFailed}</span>
  return <span className="tone-ok">{texts.onState}</span>
}

/** Counts the runs missed since the last run, with a button that catches up. */
function MissedNotice({ schedule, onCatchUp }: { schedule: Schedule; onCatchUp: () => void }) {
  const { may } = useMay('jobs.run', schedule.jobs[0] ?? 'somewhere')
  const missed = missedLately(schedule)
  const why = schedule.recent.find(({ state }) => state === 'missed')?.text ?? ''
  if (missed === 0) return null
  return (
    <div className={`${classes.notice} notice-bad break`} role="status">
      <div>
        <strong>{texts.missedNotice(missed)}</strong>
        {why !== '' && <p>{why}</p>}
      </div>
      {may && <Button onClick={onCatchUp}>{texts.catchUpItem}</Button>}
    </div>
  )
}

function Upcoming({ schedule }: { schedule: Schedule }) {
  // Computed here, with the engine's own code, so that the list appears immediately.
  const { occurrences, changes } = useMemo(() => {
    const nowMs = Date.now()
    try {
      return {
        occurrences: occurrencesToShow(schedule, { afterMs: nowMs, limit: NEXT_SHOWN }),
        changes: clockChangesOf(schedule, nowMs)
      }
    } catch {
      // This page cannot evaluate the timing. A newer engine may have saved it, with zones or fields that the page does
      // not know. The timing's description is shown above.
      return { occurrences: [], changes: [] }
    }
  }, [schedule])
  if (occurrences.length === 0) return <p className="faint">{texts.noMoreRuns}</p>
  return (
    <div className={classes.upcoming}>
      {schedule.paused && <p className="faint">{texts.wouldRunAt}</p>}
      <NextRuns occurrences={occurrences} zone={schedule.zone} changes={changes.filter(({ isTouched }) => isTouched)} />
    </div>
  )
}

function What({ schedule }: { schedule: Schedule }) {
  const nodeName = useNodeName()
  const total = jobsOf(schedule.jobs)
  return (
    <section className={classes.section}>
      <h2>{total === 1 ? texts.runs : texts.jobsPerRun(total)}</h2>
      {schedule.jobs.map((template, index) => {
        const { project, version, spiders, args, argSets, matrix, settings, nodeId, tags, priority, userId } = template
        const names = [...Object.entries(args), ...Object.entries(settings)]
        return (
          <div key={index} className={`${classes.template} quiet-links break`}>
            <div>
              <strong>
                <Link to="/projects" search={{ project }}>
                  {project}
                </Link>
              </strong>{' '}
              <span className="dim">{version ?? texts.activeVersion}</span>
            </div>
            <div>{spiders.join(', ')}</div>
            {userId !== null && (
              <div className="dim">
                {texts.forUser(
                  <Link to="/jobs" search={{ user: userId }} title={texts.jobsOfUser(userId)}>
                    {userId}
                  </Link>
                )}
              </div>
            )}
            {names.map(([name, value]) => (
              <div key={name} className="mono">
                {name}={template.secretNames.includes(name) ? <span className="faint">{texts.secret}</span> : value}
              </div>
            ))}
            {(argSets.length > 0 || Object.keys(matrix).length > 0) && (
              <div className="dim">
                {texts.combinations(
                  [
                    ...(argSets.length > 0 ? [texts.argumentSetCount(argSets.length)] : []),
                    ...Object.entries(matrix).map(([name, values]) => `${name}: ${values.join(', ')}`)
                  ].join(' × '),
                  jobsOfTemplate(template)
                )}
              </div>
            )}
            <div className="dim">
              {nodeId !== null
                ? texts.onNode(nodeName(nodeId))
                : tags.length > 0
                  ? texts.onNodes(describeTags(tags, texts))
                  : texts.onAnyNode}
              {priority !== 0 && texts.priorityFact(priority)}
            </div>
          </div>
        )
      })}
    </section>
  )
}

function Policies({ schedule }: { schedule: Schedule }) {
  const { overlap, catchUp, catchUpWindowSeconds, jitterSeconds, maxRuns, pauseAfterFailures, startMs, endMs } =
    schedule
  return (
    <section className={classes.section}>
      <h2>{texts.rules}</h2>
      <FieldRow label={texts.overlap}>{OVERLAP_WORDS[overlap].word}</FieldRow>
      <FieldRow label={texts.catchUp}>
        {CATCH_UP_WORDS[catchUp].word}
        {catchUp !== 'none' && <span className="dim">{texts.withinWindow(formatDuration(catchUpWindowSeconds))}</span>}
      </FieldRow>
      {jitterSeconds > 0 && <FieldRow label={texts.jitter}>{texts.jitterFact(formatDuration(jitterSeconds))}</FieldRow>}
      {pauseAfterFailures !== null && (
        <FieldRow label={texts.pauseAfterFailures}>{texts.afterFailures(pauseAfterFailures)}</FieldRow>
      )}
      {maxRuns !== null && (
        <FieldRow label={texts.maximumRuns}>
          {texts.afterRuns(maxRuns, <span className="dim">{texts.soFarCount(schedule.runCount)}</span>)}
        </FieldRow>
      )}
      {startMs !== null && <FieldRow label={texts.startTime}>{formatInstant(startMs)}</FieldRow>}
      {endMs !== null && <FieldRow label={texts.end}>{formatInstant(endMs)}</FieldRow>}
      {schedule.excludedDates.length > 0 && (
        <FieldRow label={texts.excludedDates}>
          {schedule.excludedDates.slice(0, 6).join(', ')}
          {schedule.excludedDates.length > 6 && texts.andMore(schedule.excludedDates.length - 6)}
        </FieldRow>
      )}
      {schedule.excludedCrons.length > 0 && (
        <FieldRow label={texts.excludedTimes}>
          <span className="mono">{schedule.excludedCrons.join(' · ')}</span>
        </FieldRow>
      )}
      <FieldRow label={texts.runsSoFar}>{texts.timeCount(schedule.runCount)}</FieldRow>
    </section>
  )
}

/** null: the schedule runs spiders of several projects. */
function onlyProjectOf({ jobs }: Schedule): ProjectName | null {
  const [first, ...others] = new Set(jobs.map(({ project }) => project))
  return first !== undefined && others.length === 0 ? first : null
}
