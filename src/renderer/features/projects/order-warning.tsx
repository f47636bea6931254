import { Flex } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import classes from './projects.module.css'

export function OrderWarning({ text }: { text: string }) {
  return (
    <Flex component="p" align="flex-start" gap={8} className={classes.warning} role="note">
      <IconAlertTriangle size={14} className="tone-wait" aria-hidden />
      <span>{text}</span>
    </Flex>
  )
}
