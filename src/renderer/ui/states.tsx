import { Button, Group, Stack } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { explainError } from '../api/explain-error.ts'
import classes from './states.module.css'
import { texts } from '../../shared/texts/ui/shared.ts'

interface EmptyStateProps {
  icon?: ReactNode
  title: string
  children?: ReactNode
  action?: ReactNode
}

export function EmptyState({ icon, title, children, action }: EmptyStateProps) {
  return (
    <Stack align="center" gap={6} py={48} px={24} ta="center" className={classes.empty}>
      {icon !== undefined && <span className="faint">{icon}</span>}
      <strong>{title}</strong>
      {children !== undefined && <p>{children}</p>}
      {action}
    </Stack>
  )
}

interface NoMatchProps extends Omit<EmptyStateProps, 'action'> {
  onClear: () => void
}

export function NoMatch({ onClear, ...props }: NoMatchProps) {
  return <EmptyState {...props} action={<Button onClick={onClear}>{texts.clearFilter}</Button>} />
}

/** `what` completes "Could not load …". */
export function ErrorState({ what, error, onRetry }: { what: string; error: unknown; onRetry?: () => void }) {
  const { title, text, code } = explainError(error)
  return (
    <Group align="stretch" gap={10} wrap="nowrap" className={`${classes.error} notice-bad`} role="alert">
      <IconAlertTriangle size={18} className="tone-bad" aria-hidden />
      <div>
        <strong>{texts.couldNotLoad(what, title.charAt(0).toLowerCase() + title.slice(1))}</strong>
        <p>
          {text} {code !== null && <span className="faint mono">{code}</span>}
        </p>
        {onRetry && <Button onClick={onRetry}>{texts.retry}</Button>}
      </div>
    </Group>
  )
}

/** Appears only after 150 ms, to avoid flashes. */
export function RowsSkeleton({ rows = 8 }: { rows?: number }) {
  return (
    <Stack gap={16} className={classes.skeleton} role="status" aria-label={texts.loading}>
      {Array.from({ length: rows }, (_, index) => (
        <i key={index} style={{ width: `${55 + ((index * 37) % 40)}%` }} />
      ))}
    </Stack>
  )
}

export interface QueryStateProps<T> {
  query: UseQueryResult<T>
  what: string
  rows?: number
  children: (data: T) => ReactNode
}

/** Loaded data stays visible during a refetch. */
export function QueryState<T>({ query, what, rows, children }: QueryStateProps<T>) {
  if (query.data !== undefined) return children(query.data)
  if (query.isError) return <ErrorState what={what} error={query.error} onRetry={() => void query.refetch()} />
  return <RowsSkeleton rows={rows} />
}
