#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { Command } from 'commander'
import { defaultDataDirectory } from './default-data-directory.ts'
import { packagePaths, readPackageVersion } from './package-paths.ts'
import { type ServeFlags, resolvePort, resolveServeOptions } from './serve-options.ts'

// For all that is imported from here on, which is nearly everything. Where nothing can be written it does nothing.
enableCompileCache(packagePaths.compileCacheDirectory)

const ownDataDirectory = defaultDataDirectory({
  platform: process.platform,
  environment: process.env,
  homeDirectory: homedir()
})
const dataDirectoryOf = (flags: { data?: string }) => flags.data ?? (process.env.SCRAPDECK_DATA || ownDataDirectory)

const program = new Command('scrapdeck')
  .description('One queue for a fleet of Scrapyd nodes.')
  .version(readPackageVersion())

program
  .command('serve')
  .description('Run the headless service: the queue, the API, the Scrapyd-compatible door and the UI for browsers.')
  .option('--port <number>', 'port to listen on (default 6800; 0: any free one)')
  .option('--data <directory>', `where everything is kept (default ${ownDataDirectory})`)
  .option('--bind <address>', 'address to listen on (default 127.0.0.1)')
  .option('--username <name>', 'user name of the API (default: made on the first start)')
  .option('--password <password>', 'password of the API; better in SCRAPDECK_PASSWORD, where other users cannot see it')
  .option('--local-slots <number>', 'spiders at once on this machine (default: the number of CPUs; 0: none)')
  .option('--python <path>', 'the Python that runs spiders on this machine')
  .option('--allowed-host <host...>', 'names under which browsers may reach the service, beside its address')
  .action(async (flags: ServeFlags) => {
    const { serve } = await import('./serve.ts')
    await serve(resolveServeOptions(flags, process.env, ownDataDirectory))
  })

program
  .command('credentials')
  .description('Show the user name and the password, with a ready snippet for scrapy.cfg.')
  .option('--data <directory>', `where the service keeps its data (default ${ownDataDirectory})`)
  .option('--port <number>', 'port of the service (default 6800)')
  .action(async (flags: { data?: string; port?: string }) => {
    const { describeCredentials } = await import('./credentials.ts')
    process.stdout.write(describeCredentials(dataDirectoryOf(flags), resolvePort(flags.port, process.env)))
  })

program
  .command('link')
  .description('Make a new link that logs one browser in to the running service, once.')
  .option('--data <directory>', `where the service keeps its data (default ${ownDataDirectory})`)
  .option('--port <number>', 'port of the service (default 6800)')
  .action(async (flags: { data?: string; port?: string }) => {
    const { requestLoginLink } = await import('./login-link.ts')
    process.stdout.write(`${await requestLoginLink(dataDirectoryOf(flags), resolvePort(flags.port, process.env))}\n`)
  })

try {
  await program.parseAsync()
} catch (error) {
  process.stderr.write(`scrapdeck: ${error instanceof Error ? error.message : String(error)}\n`)
  // A start that failed half-way may have left a handle open; nothing of it is worth waiting for.
  process.exit(1)
}
