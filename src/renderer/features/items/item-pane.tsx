import { useQuery } from '@tanstack/react-query'
import { useApi } from '../../api/api.tsx'
import type { ItemsOf } from '../../ui/items/items-of.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { formatCount } from '../../ui/numbers.ts'
import { PaneHead } from '../../ui/pane-head.tsx'
import { DetailPane } from '../../ui/panel.tsx'
import { QueryState } from '../../ui/states.tsx'
import classes from './items-screen.module.css'

/** One whole item. */
export function ItemPane({ of, index, onClose }: { of: ItemsOf; index: number; onClose: () => void }) {
  const { query } = useApi()
  const item = useQuery(query.items.read.queryOptions({ input: { ...of, index } }))
  return (
    <DetailPane label="Item">
      <PaneHead
        what="item"
        onClose={onClose}
        menu={
          item.data && (
            <span className={classes.copy}>
              <CopyButton value={item.data.text} what="the item" />
            </span>
          )
        }
      >
        <h2>Item {formatCount(index + 1)}</h2>
      </PaneHead>
      <QueryState query={item} what="the item">
        {({ text, isCut, isReadable }) => (
          <>
            {!isReadable && (
              <p className="tone-bad">This line is not an item: it is not valid JSON, or it is too long.</p>
            )}
            <pre className={classes.whole}>{text}</pre>
            {isCut && <p className={classes.note}>The item is truncated. Export the items to see all of it.</p>}
          </>
        )}
      </QueryState>
    </DetailPane>
  )
}
