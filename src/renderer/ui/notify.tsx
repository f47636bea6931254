import { Button, Group } from '@mantine/core'
import { type NotificationData, Notifications, notifications } from '@mantine/notifications'
import { explainError } from '../api/explain-error.ts'

const UNDO_MS = 10_000
let nextId = 1
/** More than these wait out of sight, where nobody could undo anything. */
const SHOWN_AT_ONCE = 50
let shown = 0

/**
 * Where notices stand: above the status bar, whose connection must stay in sight, and at the left, for at the right are the buttons
 * of dialogs and the detail of a row. Many scroll (theme.css).
 */
export function Notices() {
  return <Notifications position="bottom-left" limit={SHOWN_AT_ONCE} mb={26} />
}

/** The newest is on top: it is in sight however many there are, and those before it keep their places. */
export function showNotice(notice: NotificationData): void {
  notifications.show({ withBorder: true, priority: ++shown, ...notice })
}

/** By what was done to: the notice that still offers to take it back. */
const offered = new Map<string, string>()

/**
 * Says what was done and offers to take it back for 10 s. `about`: what was done to; the notice of what was done to it before goes,
 * for its Undo would take back what is no more.
 */
export function notifyUndo(text: string, undo: () => void | Promise<unknown>, about?: string): void {
  const id = `undo-${nextId++}`
  if (about !== undefined) {
    const before = offered.get(about)
    offered.set(about, id)
    if (before !== undefined) notifications.hide(before)
  }
  const onUndo = async () => {
    notifications.hide(id)
    try {
      await undo()
    } catch (error) {
      notifyError('Could not undo', error)
    }
  }
  showNotice({
    id,
    autoClose: UNDO_MS,
    onClose: () => {
      if (about !== undefined && offered.get(about) === id) offered.delete(about)
    },
    message: (
      <Group justify="space-between" wrap="nowrap">
        <span id={`${id}-words`}>{text}</span>
        <Button flex="none" aria-describedby={`${id}-words`} onClick={() => void onUndo()}>
          Undo
        </Button>
      </Group>
    )
  })
}

/** A short word that something happened, for acts whose effect is not on the screen. */
export function notifyDone(text: string): void {
  showNotice({ message: text, autoClose: 4000 })
}

/** `what` says what did not work: `Could not drain eu-1`. Stays until it is closed. */
export function notifyError(what: string, error: unknown): void {
  showNotice({
    title: what,
    message: explainError(error).text,
    color: 'red',
    autoClose: false
  })
}
