import { formatCount } from '../../numbers.ts'
import { sentencesOf } from '../sentence.ts'

export const accessErrors = {
  'access.user_disabled': ({ name }: { name: string }) =>
    `The user ${name} is disabled. Ask an owner of this Scrapdeck.`,
  'access.no_role': ({ user }: { user: string }) => `${user} has no role, and is in no group that has one.`,
  'access.role_of_groups_missing': ({ name, role }: { name: string; role: string }) =>
    `The groups of ${name} have the role ${role}, which does not exist in this Scrapdeck. Ask its owner to create it, or to change the option that names it.`,
  'access.session_ended': () =>
    'The session or the token of this request has ended, or its rights have changed, while the request waited.',
  'access.code_needs_permission': ({ code, project, name }: { code: string; project: string; name: string }) =>
    `${code}, so it needs the permission "choose code in runs" in ${project}, which the role deployer has but ${name} does not: ask a deployer to make it a default of the project.`,
  'access.foreign_node_group': ({ what, foreign, user }: { what: string; foreign: string; user: string }) =>
    `${what}: the tag ${foreign} is a node group in which ${user} may not change nodes, so it can be neither added nor removed.`,
  'access.needs_admin_of_all_nodes': ({ use, user }: { use: string; user: string }) =>
    `${use}, so only an admin of all nodes may set it; ${user} may change the nodes of some groups.`,
  'access.no_user': ({ id }: { id: string }) => `There is no user ${id}; it may have been removed`,
  'access.too_many_groups': ({ groupsMax }: { groupsMax: number }) =>
    `There can be up to ${groupsMax} groups. Remove some first`,
  'access.group_name_taken': ({ name }: { name: string }) => `There is already a group ${name}. Choose another name`,
  'access.no_group': ({ id }: { id: string }) => `There is no group ${id}; it may have been removed`,
  'access.too_many_members': ({ most, wanted }: { most: number; wanted: number }) =>
    `A group can have up to ${formatCount(most)} members, and this would be ${formatCount(wanted)}`,
  'access.password_not_judged': ({ what }: { what: string }) =>
    `Checking this password ${what}. Choose another one, or try again`,
  'access.too_many_passwords_checked': ({ retryAfterSeconds }: { retryAfterSeconds: number }) =>
    `Too many passwords are being checked. Wait ${retryAfterSeconds} s and try again, or use a token.`,
  'access.too_many_wrong': ({ what, retryAfterSeconds }: { what: string; retryAfterSeconds: number }) =>
    `Too many wrong ${what}. Wait ${retryAfterSeconds} s and try again.`,
  'access.needs_password': ({ text }: { text: string }) => `${text}: log in with a password.`,
  'access.needs_permission': ({
    what,
    missing,
    where,
    role,
    holder
  }: {
    what: string
    missing: string
    where: string
    role: string
    holder: string
  }) => `${what} needs the permission ${missing}${where}, which the role ${role} has. ${holder}: ask an owner for it.`,
  'access.role_name_taken': ({ name }: { name: string }) => `There is already a role ${name}. Choose another name`,
  'access.too_many_roles': ({ rolesMax }: { rolesMax: number }) =>
    `There can be up to ${rolesMax} roles. Remove some first`,
  'access.role_in_use': ({ name, holders }: { name: string; holders: string }) =>
    `The role ${name} is in use: ${holders}. Assign another role to them first`,
  'access.no_such_role_of': ({ name, names }: { name: string; names: readonly string[] }) =>
    `There is no role ${name}. The roles are ${names.join(', ')}`,
  'access.no_such_role': ({ name }: { name: string }) => `There is no role ${name}`,
  'access.role_built_in': ({ name }: { name: string }) => `${name} is a built-in role, which cannot be changed`,
  'access.role_for_whole_service': ({ name, labels, where }: { name: string; labels: string; where: string }) =>
    `The role ${name} has permissions for the whole service (${labels}), so it cannot be assigned in individual projects${where}`,
  'access.too_many_wrong_codes': ({ retryAfterSeconds }: { retryAfterSeconds: number }) =>
    `Too many wrong codes. Wait ${retryAfterSeconds} s and try again, or use a recovery code or a passkey.`,
  'access.authenticator_took_too_long': () =>
    'Setting up the authenticator app took more than ten minutes. Start again',
  'access.code_wrong': () =>
    'This code is wrong. Enter the newest code in the app, and check that the clock of the phone is correct',
  'access.recovery_codes_need_authenticator': () => 'Recovery codes replace an authenticator app: set up one first',
  'access.codes_not_checkable': () =>
    'Codes from this app can no longer be checked. Use a recovery code, or ask an owner to reset your sign-in',
  'access.too_many_passkeys': ({ passkeysMax }: { passkeysMax: number }) =>
    `A user can have up to ${passkeysMax} passkeys. Remove some first`,
  'access.passkey_took_too_long': () => 'Adding the passkey took more than ten minutes. Start again',
  'access.passkey_not_new': () => 'The browser’s response is not a new passkey for this host. Start again',
  'access.authenticator_set_up': () => 'An authenticator app is already set up. Turn it off first',
  'access.not_with_token': ({ what }: { what: string }) =>
    `A token cannot ${what} of its user: log in with a password.`,
  'access.service_has_only_password': () => 'The service login has only its password. Log in as your own user',
  'access.polled_too_often': ({ pollSeconds }: { pollSeconds: number }) =>
    `Wait at least ${pollSeconds} s between two polls of this sign-in.`,
  'access.no_sign_in_with_code': () =>
    'No pending sign-in has this code. Compare it with the one on the other screen; it is valid for ten minutes.',
  'access.sign_in_failed': ({ text }: { text: string }) => `${text}. Start again.`,
  'access.too_many_tokens': ({ tokensEachMax }: { tokensEachMax: number }) =>
    `A user can have up to ${tokensEachMax} tokens. Revoke some first`,
  'access.token_without_role': ({ owner }: { owner: string }) => `${owner} has no role, so a token could do nothing`,
  'access.no_token': ({ id }: { id: string }) => `There is no token ${id}; it may have been revoked`,
  'access.service_account_needs_token': ({ name }: { name: string }) =>
    `${name} is a service account: create a token for it instead of a password`,
  'access.user_name_taken': ({ name }: { name: string }) => `There is already a user ${name}. Choose another name`,
  'access.service_account_no_password': ({ name }: { name: string }) =>
    `${name} is a service account and has no password`,
  'access.user_of_provider': ({ name, origin }: { name: string; origin: string }) =>
    `${name} logs in elsewhere (${origin}): the roles come from groups there and from groups of this Scrapdeck, and there is no password here`,
  'access.password_unchanged': () => 'The new password is the same as the current one: choose another',
  'access.current_password_wrong': () => 'The current password is wrong',
  'access.password_easily_guessed': () =>
    'This password is easily guessed: use several words that have nothing in common',
  'access.too_many_users': ({ usersMax }: { usersMax: number }) =>
    `There can be up to ${usersMax} users. Remove some first`,
  'access.password_changed': () =>
    'The password was changed in the meantime: enter the new one as the current password',
  'access.user_needs_role': () => 'Give the user a role, for all projects or for some, or a group that has one',
  'access.passkey_not_accepted': () => 'This passkey is not accepted: it may have been removed from the account.',
  'access.passkey_user_disabled': () => 'The user of this passkey is disabled. Ask an owner of this Scrapdeck.',
  'access.tokens_for_others': () => 'Only an owner can create tokens for others.',
  'access.token_above_owner': ({ owner, role }: { owner: string; role: string }) =>
    `A token of ${owner} cannot have the role ${role}, which may do more.`,
  'access.no_role_in_project': ({ user, project }: { user: string; project: string }) =>
    `${user} has no role in the project ${project}.`,
  'access.no_role_in_node_group': ({ user, nodeGroup }: { user: string; nodeGroup: string }) =>
    `${user} has no role in the node group ${nodeGroup}.`,
  'access.service_password_elsewhere': () =>
    'The password of the service itself is changed on its machine, with --password-file or SCRAPDECK_PASSWORD'
}

export const sentence = sentencesOf(accessErrors)
