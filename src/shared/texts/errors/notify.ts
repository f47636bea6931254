import { sentencesOf } from '../sentence.ts'

const SECRETS: Record<string, string> = {
  slack: 'the address of the incoming webhook that Slack shows',
  discord: 'the address of the webhook that Discord shows',
  teams: 'the address of the workflow that Teams shows',
  telegram: 'the token of the bot that @BotFather gave',
  pagerduty: 'the integration key of the service in PagerDuty'
}

export const notifyErrors = {
  'notify.alert_logs_being_read': () => 'Too many requests are reading alert logs. Try again in a moment.',
  'notify.reports_being_made': () => 'Other reports are being created. Try again in a moment.',
  'notify.no_blob': ({ name }: { name: string }) => `There is no blob ${name}`,
  'notify.plugin_password_unchecked': ({ plugin }: { plugin: string }) =>
    `The plugin ${plugin} could not check the password. Try again in a minute, or use a token.`,
  'notify.network_invalid': ({ network }: { network: string }) =>
    `webhook_networks: ${JSON.stringify(network)} is not a network. Use a form such as 10.1.0.0/16, fd12::/16 or 127.0.0.1`,
  'notify.address_not_http': ({ protocol }: { protocol: string }) =>
    `The address starts with ${protocol}//, but webhooks support only http and https.`,
  'notify.address_has_credentials': () =>
    'The address contains a user name or password, which all users who can list webhooks would see. Remove it: receivers verify the signature instead.',
  'notify.address_is_inside': ({ host }: { host: string }) =>
    `${host} is on this machine or its private network, where webhooks are not sent. To allow it, add its network to webhook_networks in the configuration.`,
  'notify.not_an_address': () => 'This is not a valid address. Use a form such as https://example.org/hooks/scrapdeck.',
  'notify.secret_missing': ({ kind }: { kind: string }) => `Enter ${SECRETS[kind] ?? kind}.`,
  'notify.not_a_chat': ({ chatId }: { chatId: string }) =>
    `${chatId} is not a chat: enter its id, such as -1001234567890, or the @name of a channel.`,
  'notify.not_a_mail_address': ({ address }: { address: string }) =>
    `${address} is not an e-mail address: use a form such as team@example.org.`,
  'notify.not_a_sender': ({ from }: { from: string }) =>
    `${from} cannot be the sender: use a form such as Scrapdeck <scrapdeck@example.org>.`,
  'notify.sender_has_invisible_characters': () => 'The sender or the user name has invisible characters.',
  'notify.not_a_mail_server': ({ host }: { host: string }) =>
    `${host} is not a mail server: enter its name, such as smtp.example.org, without a port.`,
  'notify.mail_password_missing': ({ username }: { username: string }) =>
    `Enter the password of ${username}, or no user name.`,
  'notify.mail_password_without_tls': () =>
    'Without TLS, everybody on the way could read the password. Choose STARTTLS or TLS, or no user name.',
  'notify.channel_address_unusable': ({ problem }: { problem: string }) => `${problem}.`,
  'notify.channel_address_invalid': () =>
    'The address of this channel is not valid: enter the whole address, such as https://…',
  'notify.channel_address_plain': () => 'The address of this channel must start with https: it is a secret',
  'notify.no_alert_plugin': ({ plugin, known }: { plugin: string; known: readonly string[] }) =>
    known.length === 0
      ? 'No plugin of the configuration has the hook alert: add one to plugins first.'
      : `There is no plugin ${plugin} with the hook alert. There is: ${known.join(', ')}.`,
  'notify.no_alert_command': ({ command, known }: { command: string; known: readonly string[] }) =>
    known.length === 0
      ? 'The configuration names no commands: add one to alert_commands first.'
      : `There is no command ${command} in alert_commands. It has: ${known.join(', ')}.`
}

export const sentence = sentencesOf(notifyErrors)
