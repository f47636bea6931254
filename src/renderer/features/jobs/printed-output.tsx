import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Attempt } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { plainText } from '../../terminal/sanitise.ts'
import { CodeBlock } from '../../ui/panel.tsx'
import { RowsSkeleton } from '../../ui/states.tsx'

const READ_BYTES = 65_536

/** What a run printed beside its log, once somebody asks for it. What a failed run printed is in its log. */
export function PrintedOutput({ attempt: { jobId, number } }: { attempt: Attempt }) {
  const { query } = useApi()
  const [isOpen, setOpen] = useState(false)
  const input = { jobId, attemptNumber: number, offset: -READ_BYTES, limitBytes: READ_BYTES, printed: true }
  const printed = useQuery(query.logs.read.queryOptions({ input, enabled: isOpen, retry: false, staleTime: Infinity }))
  return (
    <div>
      <Button variant="subtle" size="compact-sm" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Printed output
      </Button>
      {isOpen && printed.isPending && <RowsSkeleton rows={2} />}
      {isOpen && printed.isError && <p className="dim">The run printed nothing, or its output is not kept.</p>}
      {isOpen && printed.data !== undefined && (
        <CodeBlock label="Printed output">{printed.data.text.split('\n').map(plainText).join('\n')}</CodeBlock>
      )}
    </div>
  )
}
