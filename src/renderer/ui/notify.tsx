import { Button, Group } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { explainError } from '../api/explain-error.ts'

const UNDO_MS = 10_000
let nextId = 1

/** Says what was done and offers to take it back for 10 s. */
export function notifyUndo(text: string, undo: () => void | Promise<unknown>): void {
  const id = `undo-${nextId++}`
  const onUndo = async () => {
    notifications.hide(id)
    try {
      await undo()
    } catch (error) {
      notifyError('Could not undo', error)
    }
  }
  notifications.show({
    id,
    autoClose: UNDO_MS,
    withBorder: true,
    message: (
      <Group justify="space-between" wrap="nowrap">
        <span>{text}</span>
        <Button onClick={() => void onUndo()}>Undo</Button>
      </Group>
    )
  })
}

/** A short word that something happened, for acts whose effect is not on the screen. */
export function notifyDone(text: string): void {
  notifications.show({ message: text, autoClose: 4000, withBorder: true })
}

/** `what` says what did not work: `Could not drain eu-1`. Stays until it is closed. */
export function notifyError(what: string, error: unknown): void {
  notifications.show({
    title: what,
    message: explainError(error).text,
    color: 'red',
    autoClose: false,
    withBorder: true
  })
}
