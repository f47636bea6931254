import { formatCount } from './numbers.ts'
import { texts } from '../../shared/texts/ui/shared.ts'

/** null: shows a dash with an explanation, not 0. */
export function Count({ value, tone }: { value: number | null; tone?: string | undefined }) {
  if (value !== null) return <span className={tone}>{formatCount(value)}</span>
  return (
    <span className="faint" title={texts.countUnknown}>
      –
    </span>
  )
}
