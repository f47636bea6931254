import type { Node } from '../../../shared/contract/index.ts'
import { matchWords, parseTagExpression } from './tag-expression.ts'
import classes from './tag-check.module.css'

const TAGS_SHOWN = 16

/** What the expression comes to, and the tags there are, to be added with a click. */
export function TagCheck({
  id,
  text,
  nodes,
  onChange
}: {
  id: string
  text: string
  nodes: readonly Node[]
  onChange: (text: string) => void
}) {
  const read = parseTagExpression(text)
  const known = [...new Set(nodes.flatMap(({ tags }) => tags))].sort().slice(0, TAGS_SHOWN)
  const match = 'terms' in read && read.terms.length > 0 ? matchWords(read.terms, nodes) : null
  return (
    <div className={classes.tagCheck}>
      <span id={id} role="status" className={'problem' in read ? 'tone-bad' : match?.isEmpty ? 'tone-wait' : 'dim'}>
        {'problem' in read
          ? read.problem
          : (match?.text ?? 'eu|us: tagged one of both · !slow: not tagged so · a blank between: all must hold')}
      </span>
      {known.length > 0 && (
        <span className={classes.tagList}>
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
