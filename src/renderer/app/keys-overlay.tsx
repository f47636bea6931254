import { Stack } from '@mantine/core'
import { Dialog } from '../ui/dialog.tsx'
import { EVERYWHERE, useKeyGroups } from '../state/keys.ts'
import { Kbd, modKey } from '../ui/kbd.tsx'
import classes from './frame.module.css'
import { texts } from '../../shared/texts/ui/app.ts'

export function KeysOverlay({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  return (
    <Dialog opened={opened} onClose={onClose} title={texts.keyboardShortcuts} size="md">
      <KeyList />
    </Dialog>
  )
}

export function KeyList() {
  const groups = useKeyGroups(({ groups }) => groups)
  // The screen's groups come first, in the order in which it adds them; global groups come last.
  const titles = [...new Set(groups.map(({ title }) => title))].sort(
    (left, right) => Number(left === EVERYWHERE) - Number(right === EVERYWHERE)
  )
  return (
    <Stack gap={16} className={classes.keys}>
      {titles.map((title) => (
        <section key={title}>
          <h2>{title}</h2>
          <dl>
            {groups
              .filter((group) => group.title === title)
              .flatMap(({ bindings }) => bindings)
              .map(({ key, label }) => (
                <div key={key}>
                  <dt>
                    <Kbd>{keyName(key)}</Kbd>
                  </dt>
                  <dd>{label}</dd>
                </div>
              ))}
          </dl>
        </section>
      ))}
    </Stack>
  )
}

const ARROWS: Record<string, string> = { 'Alt+ArrowUp': '↑', 'Alt+ArrowDown': '↓' }

function keyName(key: string): string {
  if (key.startsWith('mod+')) return modKey(key.slice(4).toUpperCase())
  if (key.startsWith('Alt+')) return texts.altKey(ARROWS[key] ?? key.slice(4))
  if (/^[A-Z]$/.test(key)) return texts.shiftKey(key)
  return key === 'Escape' ? texts.escapeKey : key === ' ' ? texts.spaceKey : key
}
