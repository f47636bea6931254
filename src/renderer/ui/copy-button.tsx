import { ActionIcon, CopyButton as MantineCopyButton, Tooltip } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import { notifyDone, notifyError } from './notify.tsx'
import { texts } from '../../shared/texts/ui/shared.ts'

export function CopyButton({ value, what }: { value: string; what: string }) {
  return (
    <MantineCopyButton value={value}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? texts.valueCopied : texts.copy(what)}>
          <ActionIcon size={20} style={{ verticalAlign: 'middle' }} onClick={copy} aria-label={texts.copy(what)}>
            {copied ? <IconCheck size={14} className="tone-ok" /> : <IconCopy size={14} />}
          </ActionIcon>
        </Tooltip>
      )}
    </MantineCopyButton>
  )
}

export function CopyText({ value, what }: { value: string; what: string }) {
  return (
    <>
      <span className="mono">{value}</span> <CopyButton value={value} what={what} />
    </>
  )
}

export const copyText = (text: string, done: string): void =>
  void navigator.clipboard.writeText(text).then(
    () => notifyDone(`${done}.`),
    (error: unknown) => notifyError(texts.couldNotCopy, error)
  )

export const copyLog = (text: string): void =>
  void navigator.clipboard.writeText(text).then(
    () => notifyDone(texts.logCopied),
    (error: unknown) => notifyError(texts.couldNotCopyLog, error)
  )
