import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import type { Passkey, LoginMethods } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { notifyDone } from '../../ui/notify.tsx'
import { Panel } from '../../ui/panel.tsx'
import { QueryState } from '../../ui/states.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import classes from './access.module.css'
import { browserProblem } from './make-passkey.ts'
import { ChangePasswordDialog } from './password-dialogs.tsx'
import {
  AddPasskeyDialog,
  ConfirmPasswordDialog,
  RecoveryCodesDialog,
  SetUpAuthenticatorDialog
} from './sign-in-dialogs.tsx'
import { READ_AGAIN, useReadAccess } from './use-access.ts'

type Asking = 'password' | 'setUp' | 'turnOff' | 'renew' | 'addPasskey' | Passkey

/** With what one logs in oneself: password, authenticator app, recovery codes, passkeys. */
export function SignInPanel() {
  const { query } = useApi()
  const signIn = useQuery(query.secondFactors.get.queryOptions(READ_AGAIN))
  const [asking, setAsking] = useState<Asking | null>(null)
  const close = () => setAsking(null)
  return (
    <Panel title="Sign-in" note="how you log in" flush>
      <QueryState query={signIn} what="how you log in" rows={3}>
        {(data) =>
          data.hasPassword ? (
            <>
              <Ways signIn={data} onAsk={setAsking} />
              <p className={`dim ${classes.none}`}>{whatIfLost(data)}</p>
            </>
          ) : (
            <p className={`dim ${classes.none}`}>
              You sign in elsewhere: passwords and second factors are managed there.
            </p>
          )
        }
      </QueryState>
      {asking === 'password' && <ChangePasswordDialog onClose={close} />}
      {asking === 'setUp' && <SetUpAuthenticatorDialog onClose={close} />}
      {asking === 'addPasskey' && <AddPasskeyDialog onClose={close} />}
      {asking === 'turnOff' && <TurnOffDialog onClose={close} />}
      {asking === 'renew' && <RenewCodesDialog onClose={close} />}
      {asking !== null && typeof asking === 'object' && <RemovePasskeyDialog passkey={asking} onClose={close} />}
    </Panel>
  )
}

function Ways({ signIn, onAsk }: { signIn: LoginMethods; onAsk: (asking: Asking) => void }) {
  const { authenticator, passkeys, passkeyProblem } = signIn
  const problem = passkeyProblem ?? browserProblem()
  const action = (label: string, asking: Asking, name = label) => (
    <Button size="compact-xs" aria-label={name} onClick={() => onAsk(asking)}>
      {label}
    </Button>
  )
  return (
    <table className={`${classes.table} ${classes.ways}`} aria-label="Sign-in">
      <tbody>
        <Way name="Password" act={action('Change…', 'password', 'Change password…')}>
          {authenticator === null ? 'Enough to log in' : 'Needs a code beside it'}
        </Way>
        <Way
          name="Authenticator app"
          act={
            authenticator === null
              ? action('Set up…', 'setUp', 'Set up an authenticator app…')
              : action('Turn off…', 'turnOff', 'Turn off the authenticator app…')
          }
        >
          {authenticator === null ? (
            <span className="dim">Off</span>
          ) : (
            <>
              On{' '}
              <span className="dim">
                · set up <RelativeTime atMs={authenticator.createdAtMs} suffix=" ago" />
              </span>
            </>
          )}
        </Way>
        {authenticator !== null && (
          <Way name="Recovery codes" act={action('Replace…', 'renew', 'Replace the recovery codes…')}>
            <span className={authenticator.recoveryCodesLeft < FEW_CODES ? 'tone-wait' : undefined}>
              {authenticator.recoveryCodesLeft} left
            </span>
          </Way>
        )}
        {passkeys.map((passkey) => (
          <Way
            key={passkey.id}
            name={`Passkey ${passkey.name}`}
            act={action('Remove…', passkey, `Remove the passkey ${passkey.name}…`)}
          >
            For {passkey.host}{' '}
            <span className="dim">
              ·{' '}
              {passkey.lastUsedAtMs === null ? (
                'not used yet'
              ) : (
                <>
                  last used <RelativeTime atMs={passkey.lastUsedAtMs} suffix=" ago" />
                </>
              )}
            </span>
          </Way>
        ))}
        <Way
          name={passkeys.length === 0 ? 'Passkeys' : 'Another passkey'}
          act={problem === null && action('Add…', 'addPasskey', 'Add a passkey…')}
        >
          <span className="dim">{problem ?? 'In place of password and code: a finger, a face or a security key'}</span>
        </Way>
      </tbody>
    </table>
  )
}

function Way({ name, children, act }: { name: string; children: ReactNode; act: ReactNode }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td className={classes.way}>{children}</td>
      <td className={classes.acts}>{act}</td>
    </tr>
  )
}

const FEW_CODES = 3

/** What people ask before they turn it on, and after it has happened. */
function whatIfLost({ authenticator, passkeys }: LoginMethods): string {
  const owner = 'an owner of this Scrapdeck can reset your sign-in'
  if (authenticator !== null) {
    const passkey = passkeys.length > 0 ? ', or a passkey,' : ''
    return `If you lose the phone: log in with a recovery code${passkey} and set the app up again. Without one, ${owner}.`
  }
  return passkeys.length > 0
    ? 'If you lose a passkey: log in with your password and remove the passkey here.'
    : `If you forget the password: an owner of this Scrapdeck can set another one.`
}

function TurnOffDialog({ onClose }: { onClose: () => void }) {
  const { client } = useApi()
  const readAgain = useReadAccess()
  return (
    <ConfirmPasswordDialog
      title="Turn off the authenticator app?"
      act="Turn off"
      says="Your other sessions end."
      onClose={onClose}
      onAct={async (current) => {
        await client.secondFactors.removeAuthenticator({ current })
        onClose()
        notifyDone('The authenticator app is off.')
        await readAgain()
      }}
    >
      Your password alone is enough to log in then. The recovery codes stop working.
    </ConfirmPasswordDialog>
  )
}

function RenewCodesDialog({ onClose }: { onClose: () => void }) {
  const { client } = useApi()
  const readAgain = useReadAccess()
  const [codes, setCodes] = useState<string[] | null>(null)
  if (codes !== null) return <RecoveryCodesDialog codes={codes} onClose={onClose} />
  return (
    <ConfirmPasswordDialog
      title="Replace the recovery codes?"
      act="Replace"
      onClose={onClose}
      onAct={async (current) => {
        setCodes((await client.secondFactors.renewRecoveryCodes({ current })).recoveryCodes)
        await readAgain()
      }}
    >
      You get ten new ones. The former ones stop working.
    </ConfirmPasswordDialog>
  )
}

function RemovePasskeyDialog({ passkey: { id, name }, onClose }: { passkey: Passkey; onClose: () => void }) {
  const { client } = useApi()
  const readAgain = useReadAccess()
  return (
    <ConfirmPasswordDialog
      title={`Remove the passkey ${name}?`}
      act="Remove"
      says="Your other sessions end."
      onClose={onClose}
      onAct={async (current) => {
        await client.secondFactors.removePasskey({ id, current })
        onClose()
        notifyDone(`The passkey ${name} is removed.`)
        await readAgain()
      }}
    >
      It is refused from now on. Delete it in the device or the password manager as well.
    </ConfirmPasswordDialog>
  )
}
