import { Badge, Button, Flex, Tooltip } from '@mantine/core'
import { IconCircleCheck, IconCircleDashed, IconCrown } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { EngineInfo } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { notifyError, notifyUndo } from '../../ui/notify.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import { whyNotDrain, whyNotLead } from './engine-rules.ts'
import classes from './engines.module.css'
import { texts } from '../../../shared/texts/ui/engines.ts'

const LOOKS = {
  leading: { Icon: IconCrown, tone: 'tone-run', word: texts.leader },
  following: { Icon: IconCircleCheck, tone: 'tone-ok', word: texts.follower },
  silent: { Icon: IconCircleDashed, tone: 'tone-wait', word: texts.silent }
} as const

interface EngineRowProps {
  engine: EngineInfo
  all: readonly EngineInfo[]
  readAtMs: number
  /** Whether this engine serves the page. */
  isOwn: boolean
  isTakingOver: boolean
  onHandOver: () => void
}

export function EngineRow({ engine, all, readAtMs, isOwn, isTakingOver, onHandOver }: EngineRowProps) {
  const { name, address, version, startedAtMs, state, silentMs, drained, hasLocalNode } = engine
  const { Icon, tone, word } = LOOKS[state]
  const notAllowed = useMay('engines.operate').why
  const [isAsking, setAsking] = useState(false)
  const drain = useDrain(engine, { isErrorShown: isAsking })
  return (
    <li className={classes.row} data-silent={state === 'silent' || undefined} aria-label={texts.engineLabel(name)}>
      <Icon size={17} stroke={1.7} className={tone} aria-hidden />
      <Flex component="span" align="center" gap="2px 8px" wrap="wrap" miw={0} className="break">
        <strong>{name}</strong>
        <span className={tone}>{word}</span>
        {drained && (
          <Badge size="xs" variant="default" title={texts.drainedHint}>
            {texts.drained}
          </Badge>
        )}
        {isOwn && (
          <Badge size="xs" variant="default" title={texts.thisPageHint}>
            {texts.thisPage}
          </Badge>
        )}
        {isTakingOver && state === 'following' && (
          <span className="tone-wait" role="status">
            {texts.takingOver}
          </span>
        )}
      </Flex>
      <Flex component="span" gap="1px 16px" wrap="wrap" className={`${classes.facts} dim small break`}>
        <span className="mono">{address}</span>
        <span>{texts.versionNamed(version)}</span>
        {hasLocalNode && <span title={texts.localNodeHint}>{texts.localNode}</span>}
        <span>{texts.startedAgo(<RelativeTime atMs={startedAtMs} />)}</span>
        <span className={state === 'silent' ? 'tone-wait' : undefined}>
          {texts.lastSeenAgo(<RelativeTime atMs={readAtMs - silentMs} />)}
        </span>
      </Flex>
      {state !== 'silent' && (
        <span className={classes.acts}>
          {state === 'following' && (
            <Act
              label={texts.handOverMenu}
              why={notAllowed ?? whyNotLead(engine)}
              about={texts.handOverLabel(name)}
              onAct={onHandOver}
            />
          )}
          <Act
            label={drained ? texts.undrain : state === 'leading' ? texts.drainMenu : texts.drain}
            why={notAllowed ?? whyNotDrain(engine, all)}
            about={drained ? texts.undrainLabel(name) : texts.drainLabel(name)}
            isActing={drain.isPending}
            onAct={() => (state === 'leading' && !drained ? setAsking(true) : drain.mutate(!drained))}
          />
        </span>
      )}
      {isAsking && (
        <ConfirmDialog
          title={texts.drainTitle(name)}
          act={texts.drain}
          onAct={() => drain.mutate(true, { onSuccess: () => setAsking(false) })}
          isActing={drain.isPending}
          error={drain.error}
          isHarmless
          focusesAct
          onClose={() => setAsking(false)}
        >
          {texts.drainLeaderHint}
        </ConfirmDialog>
      )}
    </li>
  )
}

interface ActProps {
  label: string
  why: string | null
  about: string
  isActing?: boolean
  onAct: () => void
}

function Act({ label, why, about, isActing = false, onAct }: ActProps) {
  return (
    <Tooltip label={why} disabled={why === null}>
      <Button
        size="compact-xs"
        aria-label={why === null ? about : `${about}: ${why}`}
        // Not `disabled`: keyboard users must be able to reach the button and read the reason.
        data-disabled={why !== null || undefined}
        aria-disabled={why !== null}
        loading={isActing}
        onClick={() => why === null && onAct()}
      >
        {label}
      </Button>
    </Tooltip>
  )
}

function useDrain({ id, name }: EngineInfo, { isErrorShown }: { isErrorShown: boolean }) {
  const { client, query } = useApi()
  const queries = useQueryClient()
  const refetch = () => queries.invalidateQueries({ queryKey: query.engines.list.key() })
  const drainEngine = async (drained: boolean) => {
    await client.engines.drain({ id, drained })
    await refetch()
  }
  return useMutation({
    mutationFn: drainEngine,
    onSuccess: (_done, drained) =>
      notifyUndo(
        drained ? texts.isDrained(name) : texts.canLeadAgain(name),
        () => drainEngine(!drained),
        `drain:${id}`
      ),
    onError: (error, drained) => {
      if (!isErrorShown) notifyError(drained ? texts.couldNotDrain(name) : texts.couldNotUndrain(name), error)
    }
  })
}
