import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Figures } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import type { JobsSearch } from '../../state/search.ts'
import { formatCount } from '../../ui/numbers.ts'
import { splitSlots } from '../../ui/slots-in-use.ts'
import { Sparkline } from '../../ui/charts/sparkline.tsx'
import type { Tone } from '../../ui/status.tsx'
import classes from './figure-cards.module.css'

/** The four figures with their last hour; each links to the jobs behind it. */
export function FigureCards({ figures }: { figures: Figures }) {
  const { query } = useApi()
  const { data } = useQuery(query.system.history.queryOptions())
  const samples = data?.samples ?? []
  const slots = splitSlots(figures.slotsUsed, figures.slotsTotal)
  const line = (valueOf: (sample: Figures) => number) => samples.map(valueOf)
  return (
    <div className={classes.cards}>
      <Card
        title="Slots in use"
        value={slots.inUse}
        unit={`/${formatCount(figures.slotsTotal)}${slots.over === null ? '' : ` ${slots.over}`}`}
        hint={slots.hint}
        tone="run"
        line={line(({ slotsUsed }) => slotsUsed)}
        search={{ status: ['running', 'starting'] }}
      />
      <Card
        title="Queue"
        value={figures.queued}
        unit={figures.paused ? ' paused' : ' waiting'}
        tone="wait"
        line={line(({ queued }) => queued)}
        search={{ status: ['queued'] }}
      />
      <Card
        title="Finished"
        value={figures.finishedLastHour}
        unit="/h"
        tone="ok"
        line={line(({ finishedLastHour }) => finishedLastHour)}
        search={{ status: ['succeeded'], sinceHours: 1 }}
      />
      <Card
        title="Failed"
        value={figures.failedLastHour}
        unit="/h"
        tone="bad"
        line={line(({ failedLastHour }) => failedLastHour)}
        search={{ status: ['failed'], sinceHours: 1 }}
      />
    </div>
  )
}

interface CardProps {
  title: string
  value: number
  unit: ReactNode
  hint?: string | undefined
  tone: Tone
  line: number[]
  search: JobsSearch
}

function Card({ title, value, unit, hint, tone, line, search }: CardProps) {
  return (
    <Link to="/jobs" search={search} className={classes.card} title={hint}>
      <h2>{title}</h2>
      <span className={classes.value}>
        {formatCount(value)}
        <small>{unit}</small>
      </span>
      <span className={classes.line}>
        <Sparkline values={line} tone={tone} />
      </span>
    </Link>
  )
}
