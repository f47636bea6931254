import { Button } from '@mantine/core'
import { IconEye } from '@tabler/icons-react'
import { seeAs, useSeenAs } from '../state/seen-as.ts'
import classes from './frame.module.css'

/** Above every screen, while an owner looks at it with the eyes of another role. */
export function SeenAsBar() {
  const role = useSeenAs((state) => state.role)
  if (role === null) return null
  return (
    <div className={classes.seenAs} role="status">
      <IconEye size={14} aria-hidden />
      <span>
        You see what a user with the role <strong>{role.name}</strong> sees. Your own rights are unchanged.
      </span>
      <Button size="compact-xs" variant="default" onClick={() => seeAs(null)}>
        Stop
      </Button>
    </div>
  )
}
