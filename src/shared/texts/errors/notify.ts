import { sentencesOf } from '../sentence.ts'

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
  'notify.not_an_address': () => 'This is not a valid address. Use a form such as https://example.org/hooks/scrapdeck.'
}

export const sentence = sentencesOf(notifyErrors)
