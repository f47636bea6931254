import { existsSync, readFileSync } from 'node:fs'

interface TestEnvironment {
  chromium?: string | null
}

/** Launch options for tests: the browser that setup found, no output, and no sandbox for root only. */
export function chromiumLaunchOptions(): { executablePath: string | undefined; headless: true; args: string[] } {
  const isRoot = process.getuid?.() === 0
  return {
    executablePath: findChromium(),
    headless: true,
    args: [
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-default-apps',
      '--disable-sync',
      '--no-first-run',
      ...(isRoot ? ['--no-sandbox'] : [])
    ]
  }
}

/** Returns the path of a browser. undefined selects Playwright's own. */
function findChromium(): string | undefined {
  const environmentFile = new URL('../../.cache/test-environment.json', import.meta.url)
  const environment: TestEnvironment = existsSync(environmentFile)
    ? JSON.parse(readFileSync(environmentFile, 'utf8'))
    : {}
  return [environment.chromium, '/usr/bin/chromium'].find((path) => path && existsSync(path)) ?? undefined
}
