import { Flex, Loader, Progress, Stack } from '@mantine/core'
import { IconAlertTriangleFilled, IconCheck, IconFlame, IconSnowflake } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import type { Environment, StartMode } from '../../shared/contract/index.ts'
import type { Tone } from './status.tsx'
import classes from './environment.module.css'
import { texts } from '../../shared/texts/ui/shared.ts'

const KIND_WORDS: Record<Environment['kind'], string> = {
  main: texts.mainEnvironment,
  interpreter: texts.interpreterEnvironment,
  requirements: texts.requirementsEnvironment
}

export function environmentName({ id, kind }: Pick<Environment, 'id' | 'kind'>): string {
  return kind === 'requirements' ? `${KIND_WORDS[kind]} ${id.slice(0, 8)}` : KIND_WORDS[kind]
}

export function pythonWords({ version, scrapyVersion }: Pick<Environment, 'version' | 'scrapyVersion'>): string {
  return [version && texts.pythonVersion(version), scrapyVersion && texts.scrapyVersion(scrapyVersion)]
    .filter(Boolean)
    .join(', ')
}

const STATE_LOOK: Record<Environment['state'], { tone: Tone; shape: ReactNode; word: string }> = {
  building: {
    tone: 'run',
    word: texts.environmentBuilding,
    shape: <Loader size={12} color="currentColor" aria-hidden />
  },
  failed: { tone: 'bad', word: texts.environmentFailed, shape: <IconAlertTriangleFilled size={12} aria-hidden /> },
  ready: { tone: 'ok', word: texts.environmentReady, shape: <IconCheck size={14} stroke={2.2} aria-hidden /> }
}

export function EnvironmentStateText({ environment: { state } }: { environment: Environment }) {
  const { tone, shape, word } = STATE_LOOK[state]
  return (
    <Flex component="span" display="inline-flex" align="baseline" gap={6} className={`${classes.state} tone-${tone}`}>
      {shape} {word}
    </Flex>
  )
}

/** A step of unknown length is animated, without a percentage. */
export function StepProgress({ progress }: { progress: Environment['progress'] }) {
  if (progress === null) return null
  const percent = progress.share === null ? null : Math.round(progress.share * 100)
  return (
    <Stack gap={4} className="small dim" role="status">
      <Flex component="span" gap={10} justify="space-between" className={classes.step}>
        <span className="ellipsis" title={progress.text}>
          {progress.text}…
        </span>
        {percent !== null && <span>{percent} %</span>}
      </Flex>
      <Progress value={percent ?? 100} animated={percent === null} aria-label={texts.buildingEnvironment} />
    </Stack>
  )
}

const START_WORDS: Record<StartMode['mode'], string> = {
  warm: texts.startWarm,
  warming: texts.startWarming,
  cold: texts.startCold
}

/** Warm is the normal state, so a brief text does not explain it. The other states are always explained. */
export function StartModeText({ start, isBrief = false }: { start: StartMode; isBrief?: boolean }) {
  return (
    <Flex component="span" align="baseline" gap={6} className={classes.start}>
      {start.mode === 'warm' && <IconFlame size={14} className="tone-ok" aria-hidden />}
      {start.mode === 'warming' && <Loader size={12} color="var(--run)" aria-hidden />}
      {start.mode === 'cold' && <IconSnowflake size={14} className="tone-wait" aria-hidden />}
      <span title={start.text}>
        <strong className="semibold">{START_WORDS[start.mode]}</strong>{' '}
        {!(isBrief && start.mode === 'warm') && <span className="dim">{start.text}</span>}
      </span>
    </Flex>
  )
}
