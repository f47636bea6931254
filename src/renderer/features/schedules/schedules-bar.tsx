import { Button } from '@mantine/core'
import { useState } from 'react'
import type { Schedule } from '../../../shared/contract/index.ts'
import { useMay } from '../../api/use-me.ts'
import { MarksBar } from '../../ui/marks-bar.tsx'
import { plural } from '../../ui/numbers.ts'
import { RemoveDialog } from './remove-dialog.tsx'
import { jobsOf } from './schedule-words.ts'
import type { useScheduleActions } from './use-schedule-actions.tsx'

interface SchedulesBarProps {
  marked: readonly Schedule[]
  actions: ReturnType<typeof useScheduleActions>
  onClear: () => void
}

/** The actions on all marked schedules. */
export function SchedulesBar({ marked, actions, onClear }: SchedulesBarProps) {
  const { may } = useMay('schedules.change')
  const mayRun = useMay('jobs.run').may
  const [removing, setRemoving] = useState(false)
  const on = marked.filter(({ paused }) => !paused)
  const paused = marked.filter((schedule) => schedule.paused)
  const jobs = marked.reduce((sum, schedule) => sum + jobsOf(schedule.jobs), 0)
  return (
    <MarksBar count={marked.length} noun="schedule" onClear={onClear}>
      {may && on.length > 0 && <Button onClick={() => void actions.setPaused(on, true)}>Pause {on.length}</Button>}
      {may && paused.length > 0 && (
        <Button onClick={() => void actions.setPaused(paused, false)}>Resume {paused.length}</Button>
      )}
      {mayRun && (
        <Button loading={actions.isRunning} onClick={() => actions.runNow(marked)}>
          Run now · {plural(jobs, 'job')}
        </Button>
      )}
      {may && (
        <Button color="red" variant="light" onClick={() => setRemoving(true)}>
          Remove…
        </Button>
      )}
      {removing && <RemoveDialog schedules={marked} actions={actions} onClose={() => setRemoving(false)} />}
    </MarksBar>
  )
}
