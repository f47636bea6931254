import type { Chance } from '../world/chance.ts'
import type { VirtualTime } from '../world/time.ts'

interface Striking<Act> {
  time: VirtualTime
  chance: Chance
  acts: readonly Act[]
  everyMs: number
  strike: (act: Act) => void
}

export function keepStriking<Act>({ time, chance, acts, everyMs, strike }: Striking<Act>): () => void {
  let isOver = acts.length === 0
  const next = () => {
    if (isOver) return
    time.after(chance.between(200, everyMs * 2), () => {
      if (isOver) return
      strike(chance.pick(acts))
      next()
    })
  }
  next()
  return () => {
    isOver = true
  }
}
