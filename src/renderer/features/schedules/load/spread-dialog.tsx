import { Button, Flex, Group, NumberInput, Stack } from '@mantine/core'
import { useState } from 'react'
import { type Schedule, ScheduleSettings } from '../../../../shared/contract/index.ts'
import { explainError } from '../../../api/explain-error.ts'
import { useApi } from '../../../api/api.tsx'
import { Dialog, DialogFoot } from '../../../ui/dialog.tsx'
import { ChoiceField } from '../../../ui/fields/choice-field.tsx'
import { notifyUndo } from '../../../ui/notify.tsx'
import { minuteWords } from './load-chart.tsx'
import classes from './load.module.css'
import { jobsOf } from '../schedule-words.ts'
import { type LoadMinute, planSpread, type SpreadPlan } from './spread.ts'
import { locale } from '../../../../shared/locale.ts'
import { texts } from '../../../../shared/texts/ui/schedules.ts'

const WINDOWS = [10, 20, 30, 59]

interface SpreadDialogProps {
  crowd: readonly Schedule[]
  load: { slots: number; minutes: readonly LoadMinute[] }
  atMs: number
  onClose: () => void
}

export function SpreadDialog({ crowd, load, atMs, onClose }: SpreadDialogProps) {
  const { client } = useApi()
  const total = load.minutes.find((minute) => minute.atMs === atMs)?.jobs ?? 0
  const [windowMinutes, setWindowMinutes] = useState(20)
  const [mostJobs, setMostJobs] = useState(Math.max(1, Math.min(load.slots || total, Math.ceil(total / 4))))
  const [isBusy, setBusy] = useState(false)
  const [failed, setFailed] = useState<readonly { name: string; text: string }[]>([])
  const plan = planSpread(crowd, load.minutes, atMs, { windowMinutes, mostJobs })
  const peak = Math.max(...plan.after)

  const spread = async () => {
    setBusy(true)
    const moved: Schedule[] = []
    const refused: { name: string; text: string }[] = []
    for (const { schedule, settings } of plan.moves) {
      try {
        await client.schedules.update({ ...settings, id: schedule.id, revision: schedule.revision })
        moved.push(schedule)
      } catch (error) {
        refused.push({ name: schedule.name, text: explainError(error).text })
      }
    }
    setBusy(false)
    if (moved.length > 0)
      notifyUndo(texts.schedulesMoved(moved.length, minuteWords(atMs)), async () => {
        for (const schedule of moved)
          await client.schedules.update({ ...ScheduleSettings.parse(schedule), id: schedule.id })
      })
    if (refused.length > 0) setFailed(refused)
    else onClose()
  }

  return (
    <Dialog opened onClose={onClose} title={texts.spreadTitle(minuteWords(atMs))} size={620}>
      <Stack gap={12}>
        <Group align="flex-end" gap="12px 18px">
          <NumberInput
            label={texts.maximumJobsPerMinute}
            min={1}
            max={100_000}
            allowDecimal={false}
            value={mostJobs}
            onChange={(value) => setMostJobs(Math.max(1, Number(value) || 1))}
          />
          <ChoiceField
            label={texts.maximumShift}
            value={String(windowMinutes)}
            onChange={(value) => setWindowMinutes(Number(value))}
            data={WINDOWS.map((each) => ({ value: String(each), label: texts.minutesCount(each) }))}
          />
        </Group>
        <BeforeAfter plan={plan} slots={load.slots} />
        <p role="status">
          {plan.moves.length === 0 ? texts.nothingToMove : texts.spreadPlan(plan.moves.length, crowd.length, peak)}
          {peak > mostJobs && texts.noBetterSpread}
        </p>
        <PlanRows plan={plan} atMs={atMs} />
        {failed.length > 0 && (
          <div className={`${classes.failed} notice-bad`} role="alert">
            <strong>{texts.schedulesNotMoved(failed.length)}</strong>
            {failed.map(({ name, text }) => (
              <p key={name}>
                {name}: {text}
              </p>
            ))}
          </div>
        )}
        <p className="dim">{texts.spreadHint}</p>
        <DialogFoot>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button variant="filled" loading={isBusy} disabled={plan.moves.length === 0} onClick={() => void spread()}>
            {plan.moves.length === 0 ? texts.move : texts.moveSchedules(plan.moves.length)}
          </Button>
        </DialogFoot>
      </Stack>
    </Dialog>
  )
}

function BeforeAfter({ plan, slots }: { plan: SpreadPlan; slots: number }) {
  const most = Math.max(1, ...plan.before, ...plan.after)
  const rows = [
    { word: texts.now, jobs: plan.before },
    { word: texts.then, jobs: plan.after }
  ]
  return (
    <Stack gap={8} className={`${classes.beforeAfter} box`}>
      {rows.map(({ word, jobs }) => (
        <div key={word} role="img" aria-label={texts.upToJobs(word, Math.max(...jobs))}>
          <span className="dim">{word}</span>
          <Flex component="span" align="flex-end" gap={2} h={44} className={classes.minis}>
            {jobs.map((count, minute) => (
              <i
                key={minute}
                className={count > slots ? 'tone-wait' : 'tone-run'}
                style={{ height: count === 0 ? 1 : `${(count / most) * 100}%` }}
                data-none={count === 0 || undefined}
                title={texts.minuteJobs(minute, count)}
              />
            ))}
          </Flex>
          <b>{Math.max(...jobs)}</b>
        </div>
      ))}
    </Stack>
  )
}

function PlanRows({ plan, atMs }: { plan: SpreadPlan; atMs: number }) {
  const time = (minutes: number) =>
    new Date(atMs + minutes * 60_000).toLocaleTimeString(locale(), { hour: '2-digit', minute: '2-digit' })
  return (
    <ul className={`${classes.plan} box divided`} aria-label={texts.movedSchedules}>
      {plan.moves.map(({ schedule, minutes, settings }) => (
        <li key={schedule.id}>
          <span className="ellipsis">{schedule.name}</span>
          <span>
            {time(0)} → <strong>{time(minutes)}</strong>
          </span>
          <span className="dim ellipsis">
            <span className="mono">{changedRules(schedule, settings)}</span> {schedule.zone}
          </span>
        </li>
      ))}
      {plan.stays.map(({ schedule, why }) => (
        <li key={schedule.id} className="dim">
          <span className="ellipsis">{schedule.name}</span>
          <span>{texts.stays}</span>
          <span className="ellipsis" title={why ?? undefined}>
            {why ?? texts.jobCount(jobsOf(schedule.jobs))}
          </span>
        </li>
      ))}
    </ul>
  )
}

function changedRules(schedule: Schedule, settings: ScheduleSettings): string {
  return settings.rules
    .filter((rule, index) => JSON.stringify(rule) !== JSON.stringify(schedule.rules[index]))
    .map((rule) => (rule.kind === 'cron' ? rule.expression : rule.kind === 'interval' ? texts.anchor : texts.onceWord))
    .join('; ')
}
