import { Button } from '@mantine/core'
import { useState } from 'react'
import type { Schedule } from '../../../shared/contract/index.ts'
import { useMay } from '../../api/use-me.ts'
import { Kbd } from '../../ui/kbd.tsx'
import { plural } from '../../ui/numbers.ts'
import { RemoveDialog } from './remove-dialog.tsx'
import { jobsOf } from './schedule-words.ts'
import classes from './schedules-screen.module.css'
import type { useScheduleActions } from './use-schedule-actions.tsx'

interface MarksBarProps {
  marked: readonly Schedule[]
  actions: ReturnType<typeof useScheduleActions>
  onClear: () => void
}

/** The actions on all marked schedules. */
export function MarksBar({ marked, actions, onClear }: MarksBarProps) {
  const { may } = useMay('schedules.change')
  const mayRun = useMay('jobs.run').may
  const [removing, setRemoving] = useState(false)
  const on = marked.filter(({ paused }) => !paused)
  const paused = marked.filter((schedule) => schedule.paused)
  const jobs = marked.reduce((sum, schedule) => sum + jobsOf(schedule.jobs), 0)
  return (
    <div className={classes.marks} role="toolbar" aria-label="Selected schedules">
      <strong>{marked.length} marked</strong>
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
      <Button variant="subtle" color="gray" onClick={onClear} rightSection={<Kbd>Esc</Kbd>}>
        {' '}
        Clear selection
      </Button>
      {removing && <RemoveDialog schedules={marked} actions={actions} onClose={() => setRemoving(false)} />}
    </div>
  )
}
