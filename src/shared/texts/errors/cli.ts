import { sentencesOf } from '../sentence.ts'
import { withoutStop, withStop } from '../parts.ts'

/** A variable that a project's scrapy.cfg names in `key`. `addressName`: the variable of its address. */
interface Variable {
  name: string
  addressName: string
  key: string
  address: string
}

const notSent = ({ name, address, key }: Variable): string =>
  `${name} is not sent to ${address} (${key} in scrapy.cfg): `

export const cliErrors = {
  'cli.no_encryption_key_configured': () =>
    'No encryption key is configured. Create one (scrapdeck make-key FILE) and set encryption_key_file, or write an unencrypted backup with --not-encrypted.',
  'cli.backup_not_terminal': () => 'A backup is not for a terminal. Name a file, or redirect standard output.',
  'cli.no_file': ({ file }: { file: string }) => `There is no file ${file}.`,
  'cli.file_exists': ({ path }: { path: string }) => `${path} already exists. Name another file.`,
  'cli.backup_not_written': ({ what, problem }: { what: string; problem: string }) =>
    `The backup could not be written to ${what}: ${withoutStop(problem)}. Nothing is left there.`,
  'cli.login_refused': ({ url, username }: { url: string; username: string }) =>
    `${url} refused the login of ${username}: it has expired or was revoked. Log in again: scrapdeck login ${url}`,
  'cli.password_not_received': ({
    url,
    username,
    passwordFrom
  }: {
    url: string
    username: string
    passwordFrom: string
  }) =>
    `${url} received no user name and password, although "${username}" was sent with the password from ${passwordFrom}. A proxy in between may remove the Authorization header.`,
  'cli.password_refused': ({
    url,
    username,
    passwordFrom,
    isOfService,
    restart,
    setOthers
  }: {
    url: string
    username: string
    passwordFrom: string
    isOfService: boolean | undefined
    restart: string
    setOthers: string
  }) =>
    `${url} refused the user name "${username}" or its password (from ${passwordFrom}). ${isOfService ? restart : setOthers}`,
  'cli.log_of_queued_job': ({ error, why }: { error: string; why: string | null }) => `${error}: it is queued (${why})`,
  'cli.blobs_in_use': ({ dataDirectory, used }: { dataDirectory: string; used: string }) =>
    `The Scrapdeck that runs with ${dataDirectory} uses ${used}. Stop it first: what it writes meanwhile might be missing in the copy. To copy anyway, use --even-if-running.`,
  'cli.no_credentials_yet': ({ dataDirectory }: { dataDirectory: string }) =>
    `There are no credentials in ${dataDirectory} yet. Start the service once: npm run serve -- --data ${dataDirectory}`,
  'cli.no_certificate_authority': ({ path, code }: { path: string; code: string }) =>
    `There is no certificate authority in ${path} (${code}). Start the service with tls_self_made = on (--tls-self-made), or name its data directory with --data.`,
  'cli.no_scrapyd_data_found': ({ places }: { places: readonly string[] }) =>
    `No Scrapyd data found: none of ${places.join(', ')} exists. Specify the directory that Scrapyd was started in, or its configuration with --config.`,
  'cli.scrapyd_runs': ({ what }: { what: string }) =>
    `${what} Stop that Scrapyd first: it would run the pending jobs a second time. If it is another program, use --even-if-running.`,
  'cli.keychain_unreadable': ({ error, address }: { error: string; address: string }) =>
    `The keychain cannot be read (${error}), so the login to ${address} is not used. Unlock it, or log in again.`,
  'cli.logins_not_used': ({ path, what }: { path: string; what: string }) =>
    `${path} ${what}, so its logins are not used.`,
  'cli.token_in_keychain': ({ url }: { url: string }) =>
    `The token for ${url} is in the keychain, which is not available here. Log in again: scrapdeck login ${url}`,
  'cli.logins_damaged': ({ path }: { path: string }) =>
    `${path} is damaged. Delete it, and log in again: scrapdeck login URL`,
  'cli.cannot_read': ({ path, error }: { path: string; error: string }) => `${path} cannot be read: ${withStop(error)}`,
  'cli.netrc_of_another_user': ({ path }: { path: string }) =>
    `${path} belongs to another user, so its passwords are not used.`,
  'cli.netrc_open_to_others': ({ path }: { path: string }) =>
    `${path} can be read by other users, so its passwords are not used. Restrict it: chmod 600 ${path}`,
  'cli.netrc_not_understood': ({ path, shown }: { path: string; shown: string }) =>
    `${path} is not understood: ${shown}.`,
  'cli.scrapy_cfg_unreadable': ({ key, section, what }: { key: string; section: string; what: string }) =>
    `${key} of [${section}] in scrapy.cfg cannot be read: ${what}.`,
  'cli.address_partly_from_variable': ({ text }: { text: string }) =>
    `The address ${text} in the project's scrapy.cfg is not used: a part of an address is not taken from a variable. Put the whole address into one variable (url = $SCRAPYD_URL).`,
  'cli.address_not_in_scrapy_cfg': ({ text, known }: { text: string; known: string | undefined }) =>
    `${text} in scrapy.cfg is not an address: set ${known} to http://HOST:PORT.`,
  'cli.plain_http_refused': ({ address }: { address: string }) =>
    `Scrapdeck would serve plain HTTP on ${address}, which other machines can reach, so passwords could be intercepted. Set tls_certificate and tls_key (or tls_self_made = on, for a certificate that it makes itself), put a proxy with TLS in front and set behind_proxy = on, or accept the risk with allow_plain_http = on (--allow-plain-http).`,
  'cli.database_password_unreadable': ({ path, code }: { path: string; code: string }) =>
    `The password file ${path} of the database cannot be read (${code})`,
  'cli.no_configuration': ({ path }: { path: string }) => `There is no file ${path}. Correct --config.`,
  'cli.option_unreadable': ({ from, key, error }: { from: string; key: string; error: string }) =>
    `${from}: ${key} cannot be read: ${error}`,
  'cli.configuration_unreadable': ({ path, code }: { path: string; code: string }) =>
    `${path} cannot be read (${code}). Correct its permissions, or specify another file with --config.`,
  'cli.sign_in_denied': () => 'The sign-in was denied in the browser. Start again.',
  'cli.sign_in_response_unexpected': () => 'The response to the sign-in is not from Scrapdeck. Start again.',
  'cli.sign_in_failed': ({ text }: { text: string }) => `${text}. Start again.`,
  'cli.no_program_sign_in': ({ address }: { address: string }) =>
    `${address} cannot log in programs: it is an older Scrapdeck, or something else. Check the address, or use a token.`,
  'cli.key_file_unreadable': ({ path, errorCode }: { path: string; errorCode: string }) =>
    `${path} cannot be read (${errorCode}). Without --add, a new key file is made.`,
  'cli.key_file_exists': ({ path }: { path: string }) =>
    `${path} is there already. Name another file, or add a key to it with --add.`,
  'cli.key_file_unwritable': ({ path, errorCode }: { path: string; errorCode: string }) =>
    `${path} cannot be written (${errorCode}). Name a file in a directory that exists.`,
  'cli.credentials_of_another_user': ({ file, owner }: { file: string; owner: string }) =>
    `${file} belongs to another user (${owner}), so it is not used: that user would choose where your commands go. Run this as that user, or name the service with --url.`,
  'cli.credentials_unreadable': ({ file }: { file: string }) =>
    `${file} can be read only by the user that the service runs as. Run this as that user, or name the service with --url.`,
  'cli.variable_of_another_address': (of: Variable & { belongsTo: string }) =>
    `${notSent(of)}it belongs to ${of.addressName}, ${of.belongsTo}.`,
  'cli.variable_without_address': (of: Variable) =>
    `${notSent(of)}it belongs to a Scrapdeck, and ${of.addressName} is not set. If that address is right, set ${of.addressName} to it.`,
  'cli.variable_to_address_in_file': (of: Variable) =>
    `${notSent(of)}that address is from the project's file. If that address is right, set ${of.addressName} to it, or use --expand-variables.`
}

export const sentence = sentencesOf(cliErrors)
