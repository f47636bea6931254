import { Flex, Stack } from '@mantine/core'
import { IconChevronRight } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import classes from './fold.module.css'
import { texts } from '../../shared/texts/ui/shared.ts'

interface FoldProps {
  title: string
  summary: ReactNode
  /** Whether a field in the section is invalid. If so, the section opens. */
  isWrong?: boolean
  children: ReactNode
}

export function Fold({ title, summary, isWrong = false, children }: FoldProps) {
  const [isOpened, setOpened] = useState(false)
  if (isWrong && !isOpened) setOpened(true)
  return (
    <Flex component="section" direction="column" gap={8} miw={0} aria-label={title}>
      <button type="button" className={classes.head} aria-expanded={isOpened} onClick={() => setOpened(!isOpened)}>
        <IconChevronRight size={14} aria-hidden />
        <strong>{title}</strong>{' '}
        <span className={`ellipsis ${isWrong ? 'tone-bad' : 'dim'}`}>{isWrong ? texts.containsErrors : summary}</span>
      </button>
      {isOpened && (
        <Stack gap={12} pb={2} pl={20}>
          {children}
        </Stack>
      )}
    </Flex>
  )
}
