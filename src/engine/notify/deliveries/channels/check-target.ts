import { isIP } from 'node:net'
import type { AlertTarget } from '../../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/notify.ts'
import type { Sentence } from '../../../../shared/texts/sentence.ts'
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

const SECRETS: ReadonlySet<string> = new Set(['slack', 'discord', 'teams', 'telegram', 'pagerduty'])

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
  if (SECRETS.has(target.kind) && !hasSecret) throw bad(sentence('notify.secret_missing', { kind: target.kind }))
  switch (target.kind) {
    case 'email':
      return checkMail(target, hasSecret, guard)
    case 'telegram':
      if (!CHAT_ID.test(target.chatId)) throw bad(sentence('notify.not_a_chat', { chatId: target.chatId }))
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
    if (!isMailAddress(address)) throw bad(sentence('notify.not_a_mail_address', { address }))
  }
  const own = NAMED_ADDRESS.exec(from)?.[1] ?? from
  if (!isMailAddress(own)) throw bad(sentence('notify.not_a_sender', { from }))
  if (problemOfShownName(from + username) !== null) throw bad(sentence('notify.sender_has_invisible_characters'))
  const bare = host.replace(/^\[(.*)\]$/, '$1')
  if (bare !== host || (isIP(host) === 0 && !HOST_NAME.test(host)))
    throw bad(sentence('notify.not_a_mail_server', { host }))
  guard.checkUrl(isIP(host) === 6 ? `http://[${host}]/` : `http://${host}/`)
  if (username !== '' && !hasSecret) throw bad(sentence('notify.mail_password_missing', { username }))
  if (username !== '' && security === 'none') throw bad(sentence('notify.mail_password_without_tls'))
}

const isMailAddress = (text: string): boolean => text.length <= 254 && MAIL_ADDRESS.test(text)

function checkSecretUrl(url: string, guard: AddressGuard): void {
  guard.checkUrl(url)
  const problem = problemOfAddress(url)
  if (problem !== null) throw bad(sentence('notify.channel_address_unusable', { problem }))
}

function checkPlugin({ plugin }: Of<'plugin'>, known: readonly string[]): void {
  if (known.includes(plugin)) return
  throw bad(sentence('notify.no_alert_plugin', { plugin, known }))
}

function checkCommand({ command }: Of<'command'>, commands: readonly { name: string }[]): void {
  if (commands.some(({ name }) => name === command)) return
  throw bad(sentence('notify.no_alert_command', { command, known: commands.map(({ name }) => name) }))
}

const bad = (text: Sentence): ScrapdeckError => new ScrapdeckError('BAD_INPUT', text)
