import { Dialog } from './dialog.tsx'
import { ActionIcon, Button, Flex, Stack, Tooltip } from '@mantine/core'
import { IconArrowDown, IconCopy } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { type UIEvent, useEffect, useLayoutEffect, useRef, useState } from 'react'
import type { Environment } from '../../shared/contract/index.ts'
import { useApi } from '../api/api.tsx'
import { sanitiseLine, withoutColours } from '../terminal/sanitise.ts'
import { copyLog } from './copy-button.tsx'
import classes from './build-log-dialog.module.css'
import { StepProgress, EnvironmentStateText, environmentName, pythonWords } from './environment.tsx'
import { RebuildButton } from './rebuild-button.tsx'
import { ErrorState } from './states.tsx'
import { texts } from '../../shared/texts/ui/shared.ts'

export function BuildLogDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const { query } = useApi()
  const { data } = useQuery(query.environments.list.queryOptions())
  const environment = data?.environments.find((each) => each.id === id)
  return (
    <Dialog
      opened
      onClose={onClose}
      size={860}
      title={environment ? texts.buildLogOf(environmentName(environment)) : texts.buildLog}
    >
      <Stack gap={10} h="min(66vh, 640px)">
        {data !== undefined && environment === undefined ? (
          <p className="dim">{texts.environmentGone}</p>
        ) : (
          environment && <BuildLog environment={environment} />
        )}
      </Stack>
    </Dialog>
  )
}

function BuildLog({ environment }: { environment: Environment }) {
  const { text, isOpen, error, retry } = useBuildLog(environment)
  const [isFollowing, setFollowing] = useState(true)
  const screen = useRef<HTMLPreElement>(null)
  useLayoutEffect(() => {
    if (isFollowing && screen.current) screen.current.scrollTop = screen.current.scrollHeight
  }, [text, isFollowing])
  const onScroll = ({ currentTarget: { scrollTop, clientHeight, scrollHeight } }: UIEvent<HTMLElement>) =>
    setFollowing(scrollTop + clientHeight >= scrollHeight - 24)
  return (
    <>
      <Flex component="header" align="center" gap={10} mih={28}>
        <EnvironmentStateText environment={environment} />
        <span className="dim ellipsis">{pythonWords(environment)}</span>
        <span className="grow" />
        {!isFollowing && (
          <Button leftSection={<IconArrowDown size={14} />} onClick={() => setFollowing(true)}>
            {isOpen ? texts.followLog : texts.jumpToEnd}
          </Button>
        )}
        <RebuildButton environment={environment} />
        <Tooltip label={texts.copyLog}>
          <ActionIcon onClick={() => copyLog(text)} disabled={text === ''} aria-label={texts.copyLog}>
            <IconCopy size={16} />
          </ActionIcon>
        </Tooltip>
      </Flex>
      <StepProgress progress={environment.progress} />
      {environment.problem !== null && (
        <p className="notice-bad break" role="alert">
          {environment.problem}
        </p>
      )}
      {error !== null ? (
        <ErrorState what={texts.theLog} error={error} onRetry={retry} />
      ) : (
        // A fast log would flood a screen reader: the log can be read, but only the state is announced.
        <pre ref={screen} className={classes.screen} role="log" aria-live="off" tabIndex={0} onScroll={onScroll}>
          {text === '' && <span>{isOpen ? texts.logEmpty : texts.noBuildLog}</span>}
          {text}
        </pre>
      )}
    </>
  )
}

const TEXT_MAX = 2_000_000

/** Returns at most the last 2,000,000 characters of the log. Restarts when the environment is built again. */
function useBuildLog({ id, state }: Environment) {
  const { client } = useApi()
  const [round, setRound] = useState(0)
  const [text, setText] = useState('')
  const [isOpen, setOpen] = useState(true)
  const [error, setError] = useState<unknown>(null)
  useEffect(() => {
    const abort = new AbortController()
    void read()
    return () => abort.abort()

    async function read() {
      setText('')
      setError(null)
      setOpen(true)
      let raw = ''
      try {
        for await (const piece of await client.environments.log({ id }, { signal: abort.signal })) {
          if (abort.signal.aborted) return
          raw = (raw + piece.text).slice(-TEXT_MAX)
          setText(cleanLog(raw))
        }
      } catch (failure) {
        if (!abort.signal.aborted) setError(failure)
      }
      if (!abort.signal.aborted) setOpen(false)
    }
  }, [client, id, round])

  // If a build starts after the log has ended, there is a new log.
  const [before, setBefore] = useState(state)
  if (state !== before) {
    setBefore(state)
    if (state === 'building' && !isOpen) setRound(round + 1)
  }
  return { text, isOpen, error, retry: () => setRound(round + 1) }
}

/** Removes the control sequences that builds print. Keeps only the last state of an overwritten line. */
function cleanLog(raw: string): string {
  return raw
    .split('\n')
    .map((line) => withoutColours(sanitiseLine(line.replace(/\r$/, '').split('\r').at(-1) ?? '')))
    .join('\n')
}
