import { sentencesOf } from '../sentence.ts'

export const serverErrors = {
  'server.no_job': ({ id }: { id: string }) => `There is no job ${id}; it may have been deleted`,
  'server.fields_form': () => '"fields" takes comma-separated dotted names: fields=jobs.id,jobs.status',
  'server.fields_without_response': () =>
    '"fields" selects parts of a response, but this operation has none: remove it',
  'server.no_such_field': ({ field, words }: { field: string; words: string }) =>
    `"fields": this response has no "${field}". ${words}`,
  'server.last_event_id_unknown': () =>
    'Last-Event-ID is not an event of this log. Leave it out to start from the beginning',
  'server.body_not_json': () => 'The body of the request is not JSON.',
  'server.body_not_usable': ({ problem }: { problem: string }) => `The body of the request ${problem}.`,
  'server.idempotency_key_invalid': () =>
    'An Idempotency-Key must be 1 to 255 printable ASCII characters without spaces',
  'server.secret_not_kept': () =>
    'The first request with this key was carried out, and nothing was done now. Its response had a secret, which is not kept. If you do not have it, remove or renew what was created (such as the token), and send the request with a new key.',
  'server.format_unknown': ({ formats }: { formats: readonly string[] }) => `"format" is one of ${formats.join(', ')}.`,
  'server.export_without_file': () => 'The export ended without a file. Repeat the request.',
  'server.unknown_parameter': ({ operation, unknown }: { operation: string; unknown: string }) =>
    `${operation} does not know ${JSON.stringify(unknown)}.`,
  'server.must_be_object': ({ path }: { path: readonly string[] }) => `${path.join('.')}: must be an object`,
  'server.takes_no_body': ({ operation }: { operation: string }) =>
    `${operation} takes no body: send its parameters in the query`,
  'server.body_not_object': ({ operation }: { operation: string }) =>
    `The body of ${operation} is not an object: {"name": value}`,
  'server.unknown_part': ({
    operation,
    field,
    where,
    near,
    next
  }: {
    operation: string
    field: string
    where: string
    near: string
    next: string
  }) => `${operation} has no "${field}"${where}.${near} ${next}`,
  'server.session_ended': () => 'The session or the token of this request has ended.',
  'server.too_many_wrong_passwords': ({ retryAfterSeconds }: { retryAfterSeconds: number }) =>
    `Too many wrong passwords came from this address. Wait ${retryAfterSeconds} s and try again.`,
  'server.second_factor_needed': ({ name }: { name: string }) =>
    `The password of ${name} is not enough here: ${name} logs in with a second factor. Send a token in place of the password (Settings → Users & access, or \`scrapdeck tokens add\`).`,
  'server.token_keys_unreadable': ({ issuer }: { issuer: string }) =>
    `The keys of ${issuer} cannot be read, so its tokens cannot be checked. Try again in a minute, or use a token of Scrapdeck.`,
  'server.token_not_accepted': ({ issuer, why }: { issuer: string; why: string }) =>
    `The token of ${issuer} is not accepted: ${why}.`,
  'server.rate_limit_exceeded': ({
    text,
    retryAfterSeconds,
    advice
  }: {
    text: string
    retryAfterSeconds: number
    advice: string
  }) => `Rate limit of ${text} exceeded. Retry in ${retryAfterSeconds} s${advice}.`,
  'server.provider_keys_unreadable': ({ label }: { label: string }) =>
    `The keys of ${label} cannot be read. Try again in a minute.`,
  'server.logout_token_invalid': () => 'This is not a logout token of the configured provider',
  'server.provider_away': ({ label }: { label: string }) =>
    `${label} does not respond, so you cannot log in with it. Try again later; users with a password here can still log in.`,
  'server.sign_in_failed': ({ text }: { text: string }) => `${text}. Start again.`,
  'server.proxy_headers_twice': ({
    userHeader,
    groupsHeader,
    names,
    lists
  }: {
    userHeader: string
    groupsHeader: string
    names: number
    lists: number
  }) =>
    `The proxy must send ${userHeader} and ${groupsHeader} once each, in place of those that clients send. It sent ${names} and ${lists}.`,
  'server.node_token_wrong': () => 'The token of this node is missing, wrong or revoked.',
  'server.origin_refused': ({ origin }: { origin: string }) =>
    `Scrapdeck does not accept requests from web pages of ${origin}.`,
  'server.other_page_refused': () =>
    'Scrapdeck does not accept requests made by other web pages. To open it, type its address.',
  'server.several_hosts': () => 'The request has more than one Host header.',
  'server.host_refused': ({ host }: { host: string | undefined }) =>
    `Scrapdeck does not accept the host name "${host ?? ''}". If the name is right, start Scrapdeck with --allowed-host ${host ?? 'NAME'}.`,
  'server.sign_in_client_missing': () => 'Send client (cli, desktop), host and user.',
  'server.sign_in_code_missing': () => 'Send a code or a deviceCode.',
  'server.certificate_unusable': ({ what, problem }: { what: string; problem: string }) =>
    `${what} ${problem}. Correct tls_certificate, tls_key or tls_client_ca.`,
  'server.path_with_dots': () => 'An API path cannot have a segment that is "." or "..".',
  'server.no_operation': ({ method, url }: { method: string; url: string | undefined }) =>
    `The API has no ${method} ${url}.`,
  'server.docs_not_installed': () => 'The documentation is not installed here; it is in docs/ of the source.',
  'server.no_page_of_docs': ({ name }: { name: string }) =>
    `The documentation has no page "${name}"; /docs lists them.`,
  'server.content_type_unknown': () =>
    'This content type is not supported. Send JSON with Content-Type: application/json.',
  'server.too_many_fields': ({ limit }: { limit: string }) =>
    `The form has more fields than the limit of ${limit}. Split it into several requests.`,
  'server.fields_too_large': ({ limit }: { limit: string }) =>
    `The fields of the form, without its file, are larger than the limit of ${limit}. Split it into several requests.`,
  'server.body_cut_off': () => 'The request ended before its body was complete.',
  'server.body_not_form': () => 'The body of the request is not a form.',
  'server.field_name_too_long': ({ maxNameBytes }: { maxNameBytes: number }) =>
    `A name in the form is longer than the limit of ${maxNameBytes / 1024} kB. Send name=value, and files as multipart/form-data.`,
  'server.no_leader': () => 'No engine leads at the moment. Try again in a second.',
  'server.login_took_too_long': () => 'This login took more than ten minutes, or began in another browser.',
  'server.password_changed_meanwhile': () => 'The password, or how you log in, was changed in the meantime.',
  'server.egg_missing': () => 'Send the bytes of the egg.',
  'server.file_missing': () => 'Send the bytes of the file.',
  'server.scrapdeck_starting_stopping': () => 'Scrapdeck is starting or stopping. Try again.',
  'server.message_invalid': ({ path, message }: { path: string; message: string }) =>
    `The message is not valid: ${path}: ${message}`,
  'server.no_file': ({ name }: { name: string }) => `The API has no file ${name}.`,
  'server.swagger_ui_not_installed': () => 'Swagger UI is not installed here. /api/openapi.json describes the API.',
  'server.not_within_page': ({ destination }: { destination: string }) =>
    `Logs and items cannot be part of a web page (as ${destination}). Open or download them instead.`,
  'server.authority_without_key': ({ directory }: { directory: string }) =>
    `${directory} has an authority (ca.pem) without its key (ca-key.pem). Restore the key, or move the directory away: a new authority is then made, which clients must trust again.`,
  'server.certificate_unreadable': ({ path }: { path: string }) =>
    `${path} cannot be read. Correct its owner and mode.`,
  'server.no_login_links_for_browsers': () =>
    'A browser cannot create login links. Use `npm run scrapdeck -- link`, or send the user name and password.',
  'server.passkeys_need_name': () => 'Passkeys need a host name: open Scrapdeck by its name.',
  'server.passkeys_at_public_url': ({ publicUrl }: { publicUrl: string }) =>
    `Passkeys of this Scrapdeck work at ${publicUrl} only: open it there.`,
  /** `local`: the address to open instead; null: that of the host. */
  'server.passkeys_not_at_address': ({ address, local }: { address: string; local: string | null }) =>
    `Passkeys belong to a host name, and ${address} is an address: open ${local ?? 'Scrapdeck by its name, over HTTPS'}.`,
  'server.passkeys_need_https': ({ origin }: { origin: string }) =>
    `Browsers allow passkeys over HTTPS only, and ${origin} is plain HTTP: set up TLS first.`,
  'server.credentials_missing': () =>
    'No user name and password were sent. Send those that `npm run scrapdeck -- credentials` shows, or log in under /ui/.',
  'server.credentials_wrong': () =>
    'The user name or the password is wrong. `npm run scrapdeck -- credentials` shows the right ones.',
  'server.no_role': ({ name, option }: { name: string; option: string }) =>
    `None of the groups of ${name} has a role in this Scrapdeck. Ask its owner to add one of them to ${option}, or the administrator of your organization to add you to a group.`,
  'server.upload_too_large': () => 'The upload is larger than the limit of 210 MB. Make the egg smaller.',
  'server.body_too_large': () =>
    'The body of the request is larger than the limit of 4 MB. Split it into several requests, and send files as forms.'
}

export const sentence = sentencesOf(serverErrors)
