import { ActionIcon, CopyButton as MantineCopyButton, Tooltip } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'

/** Copies `value`; `what` is its name for the tooltip: `Copy the job ID`. */
export function CopyButton({ value, what }: { value: string; what: string }) {
  return (
    <MantineCopyButton value={value}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : `Copy ${what}`}>
          <ActionIcon size={20} style={{ verticalAlign: 'middle' }} onClick={copy} aria-label={`Copy ${what}`}>
            {copied ? <IconCheck size={14} className="tone-ok" /> : <IconCopy size={14} />}
          </ActionIcon>
        </Tooltip>
      )}
    </MantineCopyButton>
  )
}

/** Machine-readable text, with a button that copies it. */
export function CopyText({ value, what }: { value: string; what: string }) {
  return (
    <>
      <span className="mono">{value}</span> <CopyButton value={value} what={what} />
    </>
  )
}
