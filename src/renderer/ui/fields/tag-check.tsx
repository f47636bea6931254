import type { Node } from '../../../shared/contract/index.ts'
import { matchWords, parseTagExpression } from './tag-expression.ts'
import form from './form.module.css'
import classes from './tag-check.module.css'

const TAGS_SHOWN = 16

interface TagCheckProps {
  id: string
  text: string
  /** The error, once there is reason to show it. */
  problem: string | undefined
  nodes: readonly Node[]
  onChange: (text: string) => void
}

/** Which nodes the expression matches, and the known tags, added with a click. */
export function TagCheck({ id, text, problem, nodes, onChange }: TagCheckProps) {
  const read = parseTagExpression(text)
  const known = [...new Set(nodes.flatMap(({ tags }) => tags))].sort().slice(0, TAGS_SHOWN)
  const match = 'terms' in read && read.terms.length > 0 ? matchWords(read.terms, nodes) : null
  return (
    <div className={classes.tagCheck}>
      <span id={id} role="status" className={problem !== undefined ? 'tone-bad' : match?.isEmpty ? 'tone-wait' : 'dim'}>
        {problem ??
          match?.text ??
          'eu|us: either tag · !slow: not this tag · separate terms with spaces: all must match'}
      </span>
      {known.length > 0 && (
        <span className={form.suggestions}>
          {known.map((tag) => (
            <button
              key={tag}
              type="button"
              onClick={() => onChange(text.trim() === '' ? tag : `${text.trim()} ${tag}`)}
            >
              {tag}
            </button>
          ))}
        </span>
      )}
    </div>
  )
}
