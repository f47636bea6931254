import { Modal } from '@mantine/core'
import { useKeyGroups } from '../state/keys.ts'
import { Kbd, modKey } from '../ui/kbd.tsx'
import classes from './frame.module.css'

/** All keys that are in force on this screen. */
export function KeysOverlay({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  return (
    <Modal opened={opened} onClose={onClose} title="Keys of this screen" size="md">
      <KeyList />
    </Modal>
  )
}

export function KeyList() {
  const groups = useKeyGroups(({ groups }) => groups)
  return (
    <div className={classes.keys}>
      {groups.map(({ id, title, bindings }) => (
        <section key={id}>
          <h2>{title}</h2>
          <dl>
            {bindings.map(({ key, label }) => (
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
    </div>
  )
}

function keyName(key: string): string {
  if (key.startsWith('mod+')) return modKey(key.slice(4).toUpperCase())
  if (/^[A-Z]$/.test(key)) return `Shift ${key}`
  return key === 'Escape' ? 'Esc' : key === ' ' ? 'Space' : key
}
