import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import '@mantine/spotlight/styles.css'
import '@mantine/dropzone/styles.css'
import '../ui/theme.css'
import '../ui/utilities.css'
import { MantineProvider } from '@mantine/core'
import { type QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createHashHistory, type RouterHistory, RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiProvider, createApi } from '../api/api.tsx'
import { followChanges } from '../api/live/follow-changes.ts'
import { followEngines } from '../api/desktop.ts'
import type { Client, DesktopClient } from '../api/wire.ts'
import { setConnection } from '../state/connection.ts'
import { listenForKeys, listenForMenu } from '../state/keys.ts'
import { cssVariables, theme } from '../ui/theme.ts'
import { loadAhead } from './load-patiently.ts'
import { createQueryClient } from './query-client.ts'
import { createAppRouter } from './router.tsx'

export function startApp(client: Client, desktop: DesktopClient | null = null): void {
  if (desktop !== null) void followEngines(desktop)
  const queryClient = createQueryClient()
  followChanges({ api: createApi(client), queryClient, onConnection: setConnection })
  listenForKeys()
  if (desktop !== null) listenForMenu()
  // Hash URLs: the same bundle is served under /ui/ and by the desktop's own protocol, which maps paths to files.
  const root = document.getElementById('root')
  if (!root) throw new Error('index.html has no #root')
  createRoot(root).render(
    <StrictMode>
      <App client={client} queryClient={queryClient} history={createHashHistory()} />
    </StrictMode>
  )
  setTimeout(() => void loadAhead(), 1500)
}

function App({ client, queryClient, history }: { client: Client; queryClient: QueryClient; history: RouterHistory }) {
  return (
    <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto">
      <QueryClientProvider client={queryClient}>
        <ApiProvider client={client}>
          <RouterProvider router={createAppRouter(history)} />
        </ApiProvider>
      </QueryClientProvider>
    </MantineProvider>
  )
}
