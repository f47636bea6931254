import { Button, Group } from '@mantine/core'
import { type NotificationData, Notifications, notifications } from '@mantine/notifications'
import { useId } from 'react'
import { explainError } from '../api/explain-error.ts'
import { texts } from '../../shared/texts/ui/shared.ts'

const UNDO_MS = 10_000
let nextId = 1
/**
 * The maximum number of visible notices. Mantine queues further notices invisibly, and the user could not reach their
 * Undo.
 */
const SHOWN_AT_ONCE = 50
let shown = 0

/** Notices have their own row in the frame, where they do not cover lists or buttons. */
export function Notices() {
  return <Notifications position="bottom-left" limit={SHOWN_AT_ONCE} withinPortal={false} />
}

/** The newest notice is on top, where it is always visible. The others keep their positions. */
export function showNotice(notice: NotificationData): void {
  notifications.show({ withBorder: true, priority: ++shown, ...notice })
}

/** The notice that still offers Undo, by changed thing. */
const offered = new Map<string, string>()

/**
 * Confirms an action and offers Undo for 10 s. `about` names the changed thing. An earlier notice about the same thing
 * closes, because its Undo would restore an outdated state.
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
      notifyError(texts.couldNotUndo, error)
    }
  }
  showNotice({
    id,
    autoClose: UNDO_MS,
    onClose: () => {
      if (about !== undefined && offered.get(about) === id) offered.delete(about)
    },
    message: <TextWithButton text={text} act={texts.undo} onAct={() => void onUndo()} />
  })
}

/** `act`: the button's label. */
export function notifyLink(text: string, act: string, open: () => void): void {
  showNotice({ autoClose: 8000, message: <TextWithButton text={text} act={act} onAct={open} /> })
}

function TextWithButton({ text, act, onAct }: { text: string; act: string; onAct: () => void }) {
  const id = useId()
  return (
    <Group justify="space-between" wrap="nowrap">
      <span id={id}>{text}</span>
      <Button flex="none" aria-describedby={id} onClick={onAct}>
        {act}
      </Button>
    </Group>
  )
}

export function notifyDone(text: string): void {
  showNotice({ message: text, autoClose: 4000 })
}

/** `what`: the failure, such as `Could not drain eu-1`. The notice stays until the user closes it. */
export function notifyError(what: string, error: unknown): void {
  showNotice({ title: what, message: explainError(error).text, color: 'red', autoClose: false })
}
