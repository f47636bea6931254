import { sentencesOf } from '../sentence.ts'

export const desktopErrors = {
  'desktop.sign_in_of_another_engine': ({ url }: { url: string }) => `This sign-in is not for ${url}. Log in again.`,
  'desktop.sign_in_opened_twice': () =>
    'Another program or browser on this computer also opened the address of this sign-in, so Scrapdeck stopped it. Log in again; if this happens again, use a code in another browser.',
  'desktop.sign_in_cancelled': () => 'The sign-in was cancelled.',
  'desktop.problem_with_proxy': ({ label, problem }: { label: string; problem: string }) =>
    `${label} ${problem}. Check the proxy in front of it.`,
  'desktop.credentials_refused': ({ label, what }: { label: string; what: string }) =>
    `${label} refused ${what}. It may have been revoked or changed: edit the engine and log in, or enter it again.`,
  'desktop.response_unexpected': ({ label, what }: { label: string; what: string }) =>
    `${label} responded with ${what}, which is not a Scrapdeck response. Check the address, and any proxy in front of it.`,
  'desktop.certificate_untrusted': ({ label }: { label: string }) =>
    `The certificate of ${label} was not issued by an authority that this computer trusts. Compare its fingerprint with the one on that machine, then trust it, or use a certificate of an authority.`,
  'desktop.certificate_changed': ({
    label,
    fingerprint,
    trusted
  }: {
    label: string
    fingerprint: string
    trusted: string
  }) =>
    `${label} presents a different certificate from the one that you trusted (now ${fingerprint}, trusted ${trusted}). Nothing was sent. If it was replaced on purpose, edit the engine and trust the new one; otherwise the connection may be intercepted.`,
  'desktop.answer_too_large': () => 'The engine’s response is too large.',
  'desktop.engine_read_only': ({ to }: { to: string }) =>
    `${to} is open read-only on this computer, so nothing is changed there. Turn read-only off in the engine menu.`,
  'desktop.engine_too_old': ({ to, name }: { to: string; name: string }) =>
    `${to} runs an older Scrapdeck without ${name}. Update it to use this.`,
  'desktop.call_cancelled': ({ name }: { name: string }) => `The call to ${name} was cancelled.`,
  'desktop.credentials_not_decrypted': ({ name }: { name: string }) =>
    `The credentials of ${name} cannot be decrypted on this computer. Edit the engine and enter them again.`,
  'desktop.engine_removed': ({ name }: { name: string }) => `${name} was removed from the list.`,
  'desktop.no_engine': ({ id }: { id: string }) => `There is no engine ${id} in the list. It may have been removed.`,
  'desktop.credentials_for_another_address': ({ url, newUrl }: { url: string; newUrl: string }) =>
    `The credentials were given for ${url} and are not sent to ${newUrl}. Enter them again for the new address.`,
  'desktop.engine_behind_ssh': ({ name }: { name: string }) =>
    `A browser cannot reach ${name}, which is behind an SSH host.`,
  'desktop.engine_unreachable': ({ label, problem }: { label: string; problem: string }) => `${label} ${problem}`,
  /** These follow the name of the engine. */
  'desktop.cannot_be_reached': ({ why }: { why: string }) => `cannot be reached: ${why}`,
  'desktop.refused_behind_ssh': ({ why }: { why: string }) =>
    `cannot be reached from the SSH host (${why}). Check the address behind it, as seen from there.`,
  'desktop.ssh_ended': () => 'the SSH connection ended.',
  'desktop.name_unknown': ({ errorCode }: { errorCode: string }) =>
    `does not exist under this name (${errorCode}). Check the address.`,
  'desktop.no_response': ({ errorCode, mayWantTls }: { errorCode: string; mayWantTls: boolean }) =>
    `does not respond (${errorCode || 'no connection'}). ${mayWantTls ? 'If it uses TLS, use https://. ' : ''}Check that it is running and that this computer can reach it.`
}

export const sentence = sentencesOf(desktopErrors)
