import { useRouter } from '@tanstack/react-router'
import { openEngine } from '../../api/desktop.ts'
import { engineOfPage } from '../../api/wire.ts'

/** Matches screens that exist in every engine. From any other screen, a switch opens the next engine's overview. */
const PLAIN_SCREEN = /^\/[a-z]*$/

/** Opens another engine, unless the user chooses to keep unsaved changes. */
export function useSwitchEngine(): (id: string) => Promise<void> {
  const router = useRouter()
  return async (id) => {
    if (id === engineOfPage()) return
    const { pathname } = router.state.location
    await router.navigate({ to: '/' })
    if (router.state.location.pathname !== '/') return
    openEngine(id, `#${PLAIN_SCREEN.test(pathname) ? pathname : '/'}`)
  }
}
