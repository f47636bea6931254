import {
  ActionIcon,
  Button,
  Flex,
  Loader,
  NumberInput,
  PasswordInput,
  Popover,
  SegmentedControl,
  Stack,
  Textarea,
  TextInput,
  Tooltip
} from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconAlertTriangle, IconCheck, IconCopyOff, IconKey, IconX } from '@tabler/icons-react'
import { useCallback, useMemo, useState } from 'react'
import type { ProbeResult } from '../../../shared/contract/index.ts'
import { shortNameOf } from '../../../shared/ssh-address.ts'
import { useApi } from '../../api/api.tsx'
import { explainError } from '../../api/explain-error.ts'
import { useOwnNodeGroups } from '../../api/use-me.ts'
import { Dialog, DialogFoot, SubmitKey } from '../../ui/dialog.tsx'
import { notifyDone } from '../../ui/notify.tsx'
import { joinFacts } from '../../ui/numbers.ts'
import { AddPullingNode } from './add-pulling-node.tsx'
import { AddClusterForm } from './add-cluster-form.tsx'
import classes from './add-nodes-dialog.module.css'
import { type PastedAddress, parseAddresses } from './parse-addresses.ts'
import { NewTagsField, useNewTags } from './new-tags-field.tsx'
import { type Credentials, type Probe, useProbes } from './use-probes.ts'
import { CODE_INPUT } from '../../ui/fields/code-input.ts'
import { texts } from '../../../shared/texts/ui/nodes.ts'

/** What the user changed in a row. All other values come from the probe. */
interface RowEdit {
  name?: string
  slots?: number
  credentials?: Credentials
}

type Verdict = 'asking' | 'good' | 'duplicate' | 'bad'

const ROWS_SHOWN = 60
const URGENCY: Record<Verdict, number> = { bad: 0, asking: 1, good: 2, duplicate: 3 }

export function AddNodesDialog({ onClose }: { onClose: () => void }) {
  const [kind, setKind] = useState<'reached' | 'pulling' | 'kubernetes'>('reached')
  const ownGroups = useOwnNodeGroups()
  return (
    <Dialog opened onClose={onClose} title={texts.addNodes} size={760}>
      <SegmentedControl
        mb={12}
        aria-label={texts.nodeType}
        value={kind}
        onChange={(value) => setKind(value as typeof kind)}
        data={[
          { value: 'reached', label: texts.scrapyd },
          { value: 'pulling', label: texts.pullingScrapyd },
          // A cluster's settings can name files on the service's machine, so this needs the permission for all nodes.
          ...(ownGroups === null ? [{ value: 'kubernetes', label: texts.kubernetes }] : [])
        ]}
      />
      {kind === 'reached' && <AddByAddress onClose={onClose} />}
      {kind === 'pulling' && <AddPullingNode onDone={onClose} />}
      {kind === 'kubernetes' && <AddClusterForm onClose={onClose} />}
    </Dialog>
  )
}

function AddByAddress({ onClose }: { onClose: () => void }) {
  const { client } = useApi()
  const [text, setText] = useState('')
  const [settled] = useDebouncedValue(text, 350)
  const [edits, setEdits] = useState<Readonly<Record<string, RowEdit>>>({})
  const [added, setAdded] = useState<ReadonlySet<string>>(new Set())
  const [failures, setFailures] = useState<Readonly<Record<string, string>>>({})
  const [saving, setSaving] = useState(false)
  const [tags, setTags] = useNewTags()

  const addresses = useMemo(() => parseAddresses(settled).filter(({ key }) => !added.has(key)), [settled, added])
  const credentialsOf = useCallback(
    ({ key, username, password }: PastedAddress): Credentials =>
      edits[key]?.credentials ?? { username, password, caCertificate: null },
    [edits]
  )
  const probes = useProbes(addresses, credentialsOf)
  const rows = addresses.map((address) => ({
    address,
    probe: probes.get(address.key),
    verdict: verdictOf(address, probes.get(address.key))
  }))
  // A thousand rows of fields would block the page. Rows that need attention come first, and rows over the limit are
  // only counted.
  const shown =
    rows.length <= ROWS_SHOWN
      ? rows
      : [...rows].sort((left, right) => URGENCY[left.verdict] - URGENCY[right.verdict]).slice(0, ROWS_SHOWN)
  const good = rows.filter(({ verdict }) => verdict === 'good')
  const asking = rows.filter(({ verdict }) => verdict === 'asking').length
  const edit = (key: string, change: RowEdit) => setEdits((old) => ({ ...old, [key]: { ...old[key], ...change } }))

  const save = async () => {
    setSaving(true)
    const saved = new Set(added)
    const failed: Record<string, string> = {}
    await Promise.all(
      good.map(async ({ address, probe }) => {
        const { name, slots } = edits[address.key] ?? {}
        const url = probe?.result?.url ?? address.url
        try {
          const shown = name || nameFor(address, probe)
          await client.nodes.add({ url, ...credentialsOf(address), name: shown, slots, tags })
          saved.add(address.key)
        } catch (error) {
          failed[address.key] = explainError(error).text
        }
      })
    )
    setSaving(false)
    setAdded(saved)
    setFailures(failed)
    const count = saved.size - added.size
    if (count > 0) notifyDone(texts.nodesAdded(count))
    if (Object.keys(failed).length === 0 && rows.length === good.length) onClose()
  }

  return (
    <>
      <Textarea
        label={texts.addressesOfServers}
        description={texts.addressesOfServersHint}
        placeholder={
          'scrapyd-1.example.net\nhttps://deploy:secret@scrapyd-2.example.net/base/\nssh://ops@bastion/http://10.0.0.5:6800'
        }
        {...CODE_INPUT}
        autosize
        minRows={3}
        maxRows={8}
        data-autofocus
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <NewTagsField value={tags} onChange={setTags} />
      {rows.length > 0 && (
        <ul className={`${classes.rows} box divided`} aria-label={texts.addressCheck}>
          {shown.map(({ address, probe, verdict }) => (
            <li key={address.key} className={classes.row}>
              <VerdictIcon verdict={verdict} />
              <Stack gap={0} miw={0} className="small">
                <span className="mono ellipsis" title={address.url}>
                  {address.url}
                </span>
                <Finding
                  address={address}
                  probe={probe}
                  failure={failures[address.key]}
                  hasUsername={credentialsOf(address).username !== null}
                />
              </Stack>
              <TextInput
                aria-label={texts.nameLabel(address.url)}
                placeholder={texts.name}
                value={edits[address.key]?.name ?? nameFor(address, probe)}
                onChange={(event) => edit(address.key, { name: event.currentTarget.value })}
                disabled={verdict === 'duplicate' || address.problem !== null}
              />
              <NumberInput
                aria-label={texts.slotsLabel(address.url)}
                placeholder={texts.slotsPlaceholder}
                min={1}
                max={10_000}
                allowDecimal={false}
                hideControls
                value={edits[address.key]?.slots ?? ''}
                onChange={(value) => edit(address.key, { slots: typeof value === 'number' ? value : undefined })}
                rightSection={<span className="faint">{texts.slotsUnit}</span>}
                rightSectionWidth={38}
                disabled={verdict === 'duplicate' || address.problem !== null}
              />
              <CredentialsButton
                address={address}
                credentials={credentialsOf(address)}
                urgent={probe?.result?.health === 'unauthorized'}
                onChange={(credentials) => edit(address.key, { credentials })}
              />
            </li>
          ))}
        </ul>
      )}
      {rows.length > shown.length && <p className="dim">{texts.moreAddresses(rows.length - shown.length)}</p>}
      <DialogFoot says={summary(rows.map(({ verdict }) => verdict))}>
        <Button onClick={onClose}>{added.size > 0 ? texts.close : texts.cancel}</Button>
        <Button
          variant="filled"
          disabled={good.length === 0}
          loading={saving}
          rightSection={<SubmitKey />}
          onClick={() => void save()}
          title={good.length > 0 ? undefined : asking > 0 ? texts.checkingAddresses : texts.noAddressToAdd}
        >
          {good.length === 0 ? texts.addNodes : texts.addCheckedNodes(good.length)}
        </Button>
      </DialogFoot>
    </>
  )
}

function verdictOf(address: PastedAddress, probe: Probe | undefined): Verdict {
  if (address.problem !== null || (probe?.error ?? null) !== null) return 'bad'
  if (!probe?.result || probe.asking) return 'asking'
  if (probe.result.duplicateOf !== null) return 'duplicate'
  return probe.result.health === 'up' ? 'good' : 'bad'
}

function VerdictIcon({ verdict }: { verdict: Verdict }) {
  if (verdict === 'asking') return <Loader size={14} aria-label={texts.verdictChecking} />
  if (verdict === 'good') return <IconCheck size={16} className="tone-ok" role="img" aria-label={texts.verdictGood} />
  if (verdict === 'duplicate')
    return <IconCopyOff size={16} className="tone-off" role="img" aria-label={texts.verdictDuplicate} />
  return <IconX size={16} className="tone-bad" role="img" aria-label={texts.verdictBad} />
}

interface FindingProps {
  address: PastedAddress
  probe: Probe | undefined
  hasUsername: boolean
  failure: string | undefined
}

function Finding({ address, probe, failure, hasUsername }: FindingProps) {
  const problem = failure ?? address.problem ?? probe?.error
  if (problem) return <span className="tone-bad">{problem}</span>
  const result = probe?.result
  if (!result) return <span className="faint">{texts.checking}</span>
  if (result.duplicateOf !== null) return <span className="dim">{texts.alreadyInFleet}</span>
  if (result.health === 'unauthorized') {
    return <span className="tone-bad">{hasUsername ? texts.credentialsRejected : texts.credentialsRequired}</span>
  }
  if (result.problem !== null) return <span className="tone-bad">{result.problem}</span>
  return (
    <span className="dim">
      {facts(result)}
      {result.warnings.map((warning) => (
        <Flex key={warning} component="span" align="center" gap={4} className="tone-wait">
          <IconAlertTriangle size={12} aria-hidden /> {warning}
        </Flex>
      ))}
    </span>
  )
}

function facts({ scrapydVersion, latencyMs, running, projects }: ProbeResult): string {
  return joinFacts(
    scrapydVersion === null ? texts.scrapyd : texts.scrapydVersion(scrapydVersion),
    latencyMs !== null && texts.milliseconds(Math.round(latencyMs)),
    running !== null && running > 0 && texts.jobsRunning(running),
    projects.length > 0 && texts.projectCount(projects.length)
  )
}

interface CredentialsButtonProps {
  address: PastedAddress
  credentials: Credentials
  urgent: boolean
  onChange: (credentials: Credentials) => void
}

function CredentialsButton({ address, credentials, urgent, onChange }: CredentialsButtonProps) {
  const [opened, setOpened] = useState(false)
  const [draft, setDraft] = useState(credentials)
  const open = () => {
    setDraft(credentials)
    setOpened(true)
  }
  const apply = () => {
    setOpened(false)
    onChange({
      username: draft.username || null,
      password: draft.password || null,
      caCertificate: draft.caCertificate || null
    })
  }
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-end" width={280} trapFocus shadow="md">
      <Popover.Target>
        <Tooltip label={texts.credentialsHint}>
          <ActionIcon
            aria-label={texts.credentialsLabel(address.url)}
            onClick={open}
            disabled={address.problem !== null}
            variant={urgent ? 'light' : 'subtle'}
            color={urgent ? 'red' : 'gray'}
          >
            <IconKey size={15} className={!urgent && credentials.username !== null ? 'tone-ok' : undefined} />
          </ActionIcon>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack
          component="form"
          gap={10}
          onSubmit={(event) => {
            event.preventDefault()
            apply()
          }}
        >
          <TextInput
            label={texts.userName}
            value={draft.username ?? ''}
            onChange={(event) => setDraft({ ...draft, username: event.currentTarget.value })}
            data-autofocus
            autoComplete="off"
          />
          <PasswordInput
            label={texts.password}
            value={draft.password ?? ''}
            onChange={(event) => setDraft({ ...draft, password: event.currentTarget.value })}
            autoComplete="off"
          />
          <Textarea
            label={texts.caCertificate}
            description={texts.caCertificateHint}
            value={draft.caCertificate ?? ''}
            onChange={(event) => setDraft({ ...draft, caCertificate: event.currentTarget.value })}
            {...CODE_INPUT}
            minRows={2}
          />
          <Button type="submit" variant="filled">
            {texts.retryWithCredentials}
          </Button>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}

function nameFor({ url, problem }: PastedAddress, probe: Probe | undefined): string {
  if (problem !== null) return ''
  if (probe?.result?.nodeName) return probe.result.nodeName
  const shortName = shortNameOf(url)
  const hostname = URL.parse(`http://${shortName}`)?.hostname ?? ''
  // A bare number is not a useful name, so use the address with its port.
  return /^[\d.]*$|^\[|^localhost$/.test(hostname) ? shortName : (hostname.split('.')[0] as string)
}

function summary(verdicts: readonly Verdict[]): string {
  const count = (verdict: Verdict) => verdicts.filter((each) => each === verdict).length
  return joinFacts(
    count('asking') > 0 && texts.checkingCount(count('asking')),
    count('good') > 0 && texts.goodCount(count('good')),
    count('duplicate') > 0 && texts.duplicateCount(count('duplicate')),
    count('bad') > 0 && texts.badCount(count('bad'))
  )
}
