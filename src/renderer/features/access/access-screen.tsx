import { useMe } from '../../api/use-me.ts'
import { ScreenHead } from '../../ui/panel.tsx'
import { QueryState } from '../../ui/states.tsx'
import classes from './access.module.css'
import { AccountPanel } from './account-panel.tsx'
import { BrowsersPanel } from './browsers-panel.tsx'
import { TokensPanel } from './tokens-panel.tsx'
import { UsersPanel } from './users-panel.tsx'

/** Who may do what: one's own account, tokens and sessions; for owners, those of everybody. */
export function AccessScreen() {
  const me = useMe()
  return (
    <div className={classes.screen}>
      <ScreenHead title="Users & access" />
      <QueryState query={me} what="your role" rows={3}>
        {(data) => (
          <>
            {data.userId !== null && <AccountPanel me={data} />}
            {data.role === 'owner' && <UsersPanel />}
            <TokensPanel me={data} />
            <BrowsersPanel me={data} />
          </>
        )}
      </QueryState>
    </div>
  )
}
