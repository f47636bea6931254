import { findAddress, sendTo } from '../client/connect.ts'
import { CommandEnd, EXIT_CODES } from '../client/exit-codes.ts'
import { print } from '../client/output.ts'
import type { ClientCommands } from '../client/session.ts'

export function addLinkCommand({ add }: ClientCommands): void {
  add(
    'link',
    'Create a one-time login link for a browser.'
  )(async ({ flags, terminal }) => {
    const there = await findAddress(flags, terminal)
    if (there.url.startsWith('unix:')) {
      const what = 'Start the service with http_port, or use --url with the address of a proxy in front of it.'
      throw new CommandEnd(EXIT_CODES.failed, `Browsers cannot reach ${there.url}. ${what}`)
    }
    const call = { method: 'POST', url: new URL(`${there.url}/ui/link`), headers: {}, body: null, signal: undefined }
    const { status, text } = await sendTo(there, call, terminal)
    if (status !== 200 || !text.startsWith('/')) {
      const what = 'That Scrapdeck may be a different version than this command line.'
      throw new CommandEnd(EXIT_CODES.failed, `${there.url} did not create a login link (${status}). ${what}`)
    }
    print(terminal, flags, { url: `${there.url}${text}` }, ({ url }) => url)
  })
}
