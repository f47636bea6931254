import { Button, Modal } from '@mantine/core'
import { IconPlayerStop, IconRefresh, IconX } from '@tabler/icons-react'
import { useState } from 'react'
import type { Job } from '../../../shared/contract/index.ts'
import { plural } from '../../ui/numbers.ts'
import classes from './jobs-screen.module.css'
import type { JobActions } from './use-job-actions.ts'

/** From so many running jobs on, a dialog says first what will happen (ux.md, principle 4). */
const MANY_RUNNING = 6

/** What can be done with the marked jobs. A button that would do nothing says why. */
export function JobMarksBar({
  marked,
  actions,
  onClear
}: {
  marked: readonly Job[]
  actions: JobActions
  onClear: () => void
}) {
  const [asking, setAsking] = useState<'cancel' | 'force' | null>(null)
  const live = marked.filter(({ state }) => state !== 'ended')
  const running = live.filter(({ state }) => state !== 'queued')
  const beingCancelled = running.filter(({ cancelAskedAtMs }) => cancelAskedAtMs !== null)
  const ended = marked.length - live.length

  const cancel = (force: boolean) => {
    setAsking(null)
    void actions.cancel(force ? running : live, force).then(onClear)
  }
  const ask = (force: boolean) =>
    running.length >= MANY_RUNNING ? setAsking(force ? 'force' : 'cancel') : cancel(force)

  return (
    <div className={classes.marks} role="toolbar" aria-label="Marked jobs">
      <strong>{plural(marked.length, 'job')} marked</strong>
      <Button
        leftSection={<IconPlayerStop size={14} />}
        disabled={live.length === 0}
        title={live.length === 0 ? 'All of them have ended' : undefined}
        onClick={() => ask(false)}
      >
        Cancel {live.length > 0 && live.length}
      </Button>
      {beingCancelled.length > 0 && <Button onClick={() => ask(true)}>Force {running.length}</Button>}
      <Button
        leftSection={<IconRefresh size={14} />}
        disabled={ended === 0}
        title={ended === 0 ? 'None of them has ended yet' : 'Run the ended ones again as new jobs'}
        onClick={() => void actions.retry(marked).then(onClear)}
      >
        Retry {ended > 0 && ended}
      </Button>
      <Button variant="subtle" color="gray" leftSection={<IconX size={14} />} onClick={onClear}>
        Clear
      </Button>
      <Modal
        opened={asking !== null}
        onClose={() => setAsking(null)}
        title={`Cancel ${plural(asking === 'force' ? running.length : live.length, 'job')}?`}
      >
        <p className={classes.dialogText}>
          {plural(running.length, 'running job')} will be{' '}
          {asking === 'force'
            ? 'stopped at once, without closing their spiders'
            : 'asked to stop; each spider finishes the requests it has under way'}
          . What they have scraped stays.
          {asking === 'cancel' &&
            live.length > running.length &&
            ` ${plural(live.length - running.length, 'queued job')} will leave the queue.`}
        </p>
        <div className={classes.dialogButtons}>
          <Button onClick={() => setAsking(null)}>Keep them</Button>
          <Button variant="filled" color="red" onClick={() => cancel(asking === 'force')} data-autofocus>
            {asking === 'force' ? 'Stop at once' : 'Cancel them'}
          </Button>
        </div>
      </Modal>
    </div>
  )
}
