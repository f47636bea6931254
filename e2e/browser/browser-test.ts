import { test as base } from '@playwright/test'
import { type Service, type ServiceOptions, startService } from '../support/service.ts'

export { expect } from '@playwright/test'

interface BrowserFixtures {
  serve: (options?: ServiceOptions) => Promise<Service>
}

export const test = base.extend<BrowserFixtures>({
  // Empty but necessary: Playwright reads the fixtures' names from this pattern.
  serve: async ({}, use, testInfo) => {
    const started: Service[] = []
    await use(async (options) => {
      const service = await startService(options)
      started.push(service)
      return service
    })
    for (const service of started) {
      if (testInfo.status !== testInfo.expectedStatus) {
        await testInfo.attach('service', { body: service.output(), contentType: 'text/plain' })
      }
      await service.stop()
    }
  }
})
