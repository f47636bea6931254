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
import { texts } from '../../../shared/texts/ui/access.ts'

type Asking = 'password' | 'setUp' | 'turnOff' | 'renew' | 'addPasskey' | Passkey

export function SignInPanel() {
  const { query } = useApi()
  const signIn = useQuery(query.secondFactors.get.queryOptions(READ_AGAIN))
  const [asking, setAsking] = useState<Asking | null>(null)
  const close = () => setAsking(null)
  return (
    <Panel title={texts.signIn} note={texts.signInNote} flush>
      <QueryState query={signIn} what={texts.signInNote} rows={3}>
        {(data) =>
          data.hasPassword ? (
            <>
              <Ways signIn={data} onAsk={setAsking} />
              <p className={`dim ${classes.none}`}>{whatIfLost(data)}</p>
            </>
          ) : (
            <p className={`dim ${classes.none}`}>{texts.signInElsewhere}</p>
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
    <table className={`${classes.table} ${classes.ways}`} aria-label={texts.signIn}>
      <tbody>
        <Way name={texts.password} act={action(texts.change, 'password', texts.changePasswordItem)}>
          {authenticator === null ? texts.passwordIsEnough : texts.passwordNeedsCode}
        </Way>
        <Way
          name={texts.authenticatorApp}
          act={
            authenticator === null
              ? action(texts.setUp, 'setUp', texts.setUpAuthenticatorItem)
              : action(texts.turnOffItem, 'turnOff', texts.turnOffAuthenticatorItem)
          }
        >
          {authenticator === null ? (
            <span className="dim">{texts.off}</span>
          ) : (
            texts.authenticatorOn(
              <span className="dim">{texts.setUpAgo(<RelativeTime atMs={authenticator.createdAtMs} ago />)}</span>
            )
          )}
        </Way>
        {authenticator !== null && (
          <Way name={texts.recoveryCodes} act={action(texts.replaceItem, 'renew', texts.replaceCodesItem)}>
            <span className={authenticator.recoveryCodesLeft < FEW_CODES ? 'tone-wait' : undefined}>
              {texts.codesLeft(authenticator.recoveryCodesLeft)}
            </span>
          </Way>
        )}
        {passkeys.map((passkey) => (
          <Way
            key={passkey.id}
            name={texts.passkeyNamed(passkey.name)}
            act={action(texts.removeItem, passkey, texts.removePasskeyItem(passkey.name))}
          >
            {texts.passkeyForHost(
              passkey.host,
              <span className="dim">
                {passkey.lastUsedAtMs === null
                  ? texts.notUsedYet
                  : texts.lastUsedAgo(<RelativeTime atMs={passkey.lastUsedAtMs} ago />)}
              </span>
            )}
          </Way>
        ))}
        <Way
          name={passkeys.length === 0 ? texts.passkeys : texts.anotherPasskey}
          act={problem === null && action(texts.addItem, 'addPasskey', texts.addPasskeyItem)}
        >
          <span className="dim">{problem ?? texts.passkeysHint}</span>
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

function whatIfLost({ authenticator, passkeys }: LoginMethods): string {
  if (authenticator !== null) return passkeys.length > 0 ? texts.lostPhoneWithPasskey : texts.lostPhone
  return passkeys.length > 0 ? texts.lostPasskey : texts.lostPassword
}

function TurnOffDialog({ onClose }: { onClose: () => void }) {
  const { client } = useApi()
  const readAgain = useReadAccess()
  return (
    <ConfirmPasswordDialog
      title={texts.askTurnOffAuthenticator}
      act={texts.turnOff}
      says={texts.yourOtherSessionsEnd}
      onClose={onClose}
      onAct={async (current) => {
        await client.secondFactors.removeAuthenticator({ current })
        onClose()
        notifyDone(texts.authenticatorIsOff)
        await readAgain()
      }}
    >
      {texts.turnOffAuthenticatorHint}
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
      title={texts.askReplaceCodes}
      act={texts.replace}
      onClose={onClose}
      onAct={async (current) => {
        setCodes((await client.secondFactors.renewRecoveryCodes({ current })).recoveryCodes)
        await readAgain()
      }}
    >
      {texts.replaceCodesHint}
    </ConfirmPasswordDialog>
  )
}

function RemovePasskeyDialog({ passkey: { id, name }, onClose }: { passkey: Passkey; onClose: () => void }) {
  const { client } = useApi()
  const readAgain = useReadAccess()
  return (
    <ConfirmPasswordDialog
      title={texts.askRemovePasskey(name)}
      act={texts.remove}
      says={texts.yourOtherSessionsEnd}
      onClose={onClose}
      onAct={async (current) => {
        await client.secondFactors.removePasskey({ id, current })
        onClose()
        notifyDone(texts.passkeyRemoved(name))
        await readAgain()
      }}
    >
      {texts.removePasskeyHint}
    </ConfirmPasswordDialog>
  )
}
