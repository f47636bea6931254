import { MantineProvider } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { spotlight } from '@mantine/spotlight'
import { QueryClientProvider } from '@tanstack/react-query'
import { createMemoryHistory, RouterProvider } from '@tanstack/react-router'
import { cleanup, configure, render } from '@testing-library/react'
import type { ReactNode } from 'react'
import { ApiProvider, createApi } from '../api/api.tsx'
import { followChanges } from '../api/live/follow-changes.ts'
import { createQueryClient } from '../app/query-client.ts'
import { createAppRouter } from '../app/router.tsx'
import { setConnection } from '../state/connection.ts'
import { closeAlertRuleEditor } from '../state/open-dialogs.ts'
import { listenForKeys } from '../state/keys.ts'
import { theme } from '../ui/theme.ts'
import { stubBrowser } from './browser-stubs.ts'
import type { FakeEngine } from './fake-engine.ts'

// A screen loads when first shown, which can take several seconds on a busy machine. Some tests allow even more.
configure({ asyncUtilTimeout: 5000 })

/** Renders the whole app at an address with a fake engine. `stop()` unmounts it. */
export function renderApp(engine: Pick<FakeEngine, 'client' | 'stop'>, address = '/') {
  stubBrowser()
  const queryClient = createQueryClient()
  const router = createAppRouter(createMemoryHistory({ initialEntries: [address] }))
  const changes = followChanges({
    api: createApi(engine.client),
    queryClient,
    onConnection: setConnection,
    onNextFrame: (flush) => setTimeout(flush, 0),
    retryAfterMs: 5,
    refetchAfterMs: 5
  })
  const stopKeys = listenForKeys()
  const view = render(
    <MantineProvider theme={theme} env="test" withCssVariables={false}>
      <QueryClientProvider client={queryClient}>
        <ApiProvider client={engine.client}>
          <RouterProvider router={router} />
        </ApiProvider>
      </QueryClientProvider>
    </MantineProvider>
  )
  return {
    ...view,
    router,
    queryClient,
    stop() {
      changes.stop()
      stopKeys()
      notifications.clean()
      // The next app shares the palette's state, so close the palette.
      spotlight.close()
      cleanup()
      closeAlertRuleEditor()
      engine.stop()
      queryClient.clear()
    }
  }
}

export function renderBare(children: ReactNode) {
  stubBrowser()
  return render(
    <MantineProvider theme={theme} env="test" withCssVariables={false}>
      {children}
    </MantineProvider>
  )
}
