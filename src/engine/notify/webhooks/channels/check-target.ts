import { isIP } from 'node:net'
import type { AlertTarget } from '../../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { problemOfShownName } from '../../../../shared/unseen.ts'
import type { AddressGuard } from '../addresses.ts'
import { problemOfAddress } from './post-json.ts'

type Of<Kind extends AlertTarget['kind']> = Extract<AlertTarget, { kind: Kind }>

/** A mail address without the rarely used comments and quotes. Domains can be in any script. */
const MAIL_ADDRESS = /^[^\s@<>()[\]\\,;:"]{1,64}@[\p{L}\p{N}](?:[\p{L}\p{N}.-]*[\p{L}\p{N}])?$/u
/** `Scrapdeck <scrapdeck@example.org>` */
const NAMED_ADDRESS = /^[^<>@,;:"\\]{1,200}<([^<>]+)>$/
const HOST_NAME =
  /^(?=.{1,253}$)[\p{L}\p{N}_](?:[\p{L}\p{N}_-]*[\p{L}\p{N}_])?(?:\.[\p{L}\p{N}_](?:[\p{L}\p{N}_-]*[\p{L}\p{N}_])?)*\.?$/u
/** core.telegram.org/bots/api#sendmessage: an id, or the name of a public channel or group. */
const CHAT_ID = /^(?:-?[1-9]\d{0,18}|@[A-Za-z]\w{3,31})$/

const SECRETS: Partial<Record<AlertTarget['kind'], string>> = {
  slack: 'the address of the incoming webhook that Slack shows',
  discord: 'the address of the webhook that Discord shows',
  teams: 'the address of the workflow that Teams shows',
  telegram: 'the token of the bot that @BotFather gave',
  pagerduty: 'the integration key of the service in PagerDuty'
}

/** Refuses targets that can never work. Throws BAD_INPUT or WEBHOOK_URL_FORBIDDEN. Secrets are checked on use. */
export function checkTarget(
  target: AlertTarget,
  hasSecret: boolean,
  {
    guard,
    commands,
    plugins
  }: { guard: AddressGuard; commands: readonly { name: string }[]; plugins: readonly string[] }
): void {
  const missing = SECRETS[target.kind]
  if (missing !== undefined && !hasSecret) throw bad(`Enter ${missing}.`)
  switch (target.kind) {
    case 'email':
      return checkMail(target, hasSecret, guard)
    case 'telegram':
      if (!CHAT_ID.test(target.chatId))
        throw bad(`${target.chatId} is not a chat: enter its id, such as -1001234567890, or the @name of a channel.`)
      return
    case 'pagerduty':
      return checkSecretUrl(target.url, guard)
    case 'webhook':
      return void guard.checkUrl(target.url)
    case 'command':
      return checkCommand(target, commands)
    case 'plugin':
      return checkPlugin(target, plugins)
    case 'slack':
    case 'discord':
    case 'teams':
    case 'desktop':
  }
}

function checkMail({ from, to, host, username, security }: Of<'email'>, hasSecret: boolean, guard: AddressGuard): void {
  for (const address of to) {
    if (!isMailAddress(address)) throw bad(`${address} is not an e-mail address: use a form such as team@example.org.`)
  }
  const own = NAMED_ADDRESS.exec(from)?.[1] ?? from
  if (!isMailAddress(own))
    throw bad(`${from} cannot be the sender: use a form such as Scrapdeck <scrapdeck@example.org>.`)
  if (problemOfShownName(from + username) !== null) throw bad('The sender or the user name has invisible characters.')
  const bare = host.replace(/^\[(.*)\]$/, '$1')
  if (bare !== host || (isIP(host) === 0 && !HOST_NAME.test(host)))
    throw bad(`${host} is not a mail server: enter its name, such as smtp.example.org, without a port.`)
  guard.checkUrl(isIP(host) === 6 ? `http://[${host}]/` : `http://${host}/`)
  if (username !== '' && !hasSecret) throw bad(`Enter the password of ${username}, or no user name.`)
  if (username !== '' && security === 'none')
    throw bad('Without TLS, everybody on the way could read the password. Choose STARTTLS or TLS, or no user name.')
}

const isMailAddress = (text: string): boolean => text.length <= 254 && MAIL_ADDRESS.test(text)

function checkSecretUrl(url: string, guard: AddressGuard): void {
  guard.checkUrl(url)
  const problem = problemOfAddress(url)
  if (problem !== null) throw bad(`${problem}.`)
}

function checkPlugin({ plugin }: Of<'plugin'>, known: readonly string[]): void {
  if (known.includes(plugin)) return
  throw bad(
    known.length === 0
      ? 'No plugin of the configuration has the hook alert: add one to plugins first.'
      : `There is no plugin ${plugin} with the hook alert. There is: ${known.join(', ')}.`
  )
}

function checkCommand({ command }: Of<'command'>, commands: readonly { name: string }[]): void {
  if (commands.some(({ name }) => name === command)) return
  const known = commands.map(({ name }) => name).join(', ')
  throw bad(
    known === ''
      ? 'The configuration names no commands: add one to alert_commands first.'
      : `There is no command ${command} in alert_commands. It has: ${known}.`
  )
}

const bad = (text: string): ScrapdeckError => new ScrapdeckError('BAD_INPUT', text)
