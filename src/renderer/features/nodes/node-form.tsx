import { Autocomplete, Button, Group, NumberInput, PasswordInput, TagsInput, Textarea, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Node, NodeAddress, NodeSettings } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { explainError } from '../../api/explain-error.ts'
import { formatDuration } from '../../../shared/time.ts'
import { parseLimit } from '../../ui/fields/limits.ts'
import classes from './node-form.module.css'

/** Edits a node; only what was changed is sent. An empty password field keeps the old one. */
export function NodeForm({ node, onDone }: { node: Node; onDone: () => void }) {
  const { query } = useApi()
  const { data: fleet } = useQuery(query.nodes.list.queryOptions())
  const { mutate, isPending, error } = useMutation(query.nodes.update.mutationOptions({ onSuccess: onDone }))
  const [name, setName] = useState(node.name)
  const [slots, setSlots] = useState<number | null>(node.slotsSource === 'set' ? node.slots : null)
  const [tags, setTags] = useState(node.tags)
  const [url, setUrl] = useState(node.url)
  const [username, setUsername] = useState(node.username ?? '')
  const [password, setPassword] = useState('')
  const [caCertificate, setCaCertificate] = useState('')
  const [queueAhead, setQueueAhead] = useState(node.queueAhead)
  const [giveUp, setGiveUp] = useState(node.giveUpAfterSeconds === null ? '' : formatDuration(node.giveUpAfterSeconds))
  const [group, setGroup] = useState(node.group ?? '')
  const [clientCertificate, setClientCertificate] = useState('')
  const [clientKey, setClientKey] = useState('')
  const [proxyUrl, setProxyUrl] = useState(node.proxyUrl ?? '')
  const giveUpRead = readGiveUp(giveUp)
  const halfCertificate = (clientCertificate === '') !== (clientKey === '')

  // The engine never gives a password to another machine than the one it was entered for.
  const movesAway = originOf(url) !== originOf(node.url)

  const save = () => {
    const change: NodeSettings & Partial<NodeAddress> = {}
    if (name !== node.name) change.name = name
    if (slots !== (node.slotsSource === 'set' ? node.slots : null)) change.slots = slots
    if (tags.join('\n') !== node.tags.join('\n')) change.tags = tags
    if (url !== node.url) change.url = url
    if (username !== (node.username ?? '')) {
      change.username = username || null
      if (username === '') change.password = null
    }
    if (password !== '') change.password = password
    if (caCertificate !== '') change.caCertificate = caCertificate
    if (queueAhead !== node.queueAhead) change.queueAhead = queueAhead
    if ('seconds' in giveUpRead && giveUpRead.seconds !== node.giveUpAfterSeconds)
      change.giveUpAfterSeconds = giveUpRead.seconds
    if (group.trim() !== (node.group ?? '')) change.group = group.trim() || null
    if (clientCertificate !== '') Object.assign(change, { clientCertificate, clientKey })
    if (proxyUrl.trim() !== (node.proxyUrl ?? '')) change.proxyUrl = proxyUrl.trim() || null
    if (Object.keys(change).length === 0) onDone()
    else mutate({ id: node.id, ...change })
  }
  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault()
        save()
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onDone()
      }}
    >
      <TextInput
        label="Name"
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        required
        data-autofocus
      />
      <NumberInput
        label="Slots"
        description="How many spiders may run there at once"
        placeholder={`automatic, now ${node.slots}`}
        min={1}
        max={10_000}
        allowDecimal={false}
        value={slots ?? ''}
        onChange={(value) => setSlots(typeof value === 'number' ? value : null)}
      />
      <TagsInput
        label="Tags"
        description="Jobs can ask for a node with a tag"
        value={tags}
        onChange={setTags}
        data={[...new Set((fleet?.nodes ?? []).flatMap((each) => each.tags))]}
      />
      <Autocomplete
        label="Group"
        description="Nodes that belong together, in lists and pictures"
        placeholder="none"
        value={group}
        onChange={setGroup}
        data={[...new Set((fleet?.nodes ?? []).flatMap((each) => each.group ?? []))].sort()}
      />
      {node.kind === 'scrapyd' && (
        <>
          <NumberInput
            label="Queue ahead"
            description="How many more may wait in its own queue, so that none is idle between polls"
            min={0}
            max={1_000}
            allowDecimal={false}
            value={queueAhead}
            onChange={(value) => setQueueAhead(typeof value === 'number' ? value : 0)}
          />
          <TextInput
            label="Give up after"
            description="Without an answer for so long, its jobs run elsewhere by themselves; they may then run twice"
            placeholder="never by itself"
            title="For example 15 min"
            value={giveUp}
            error={'problem' in giveUpRead ? giveUpRead.problem : undefined}
            onChange={(event) => setGiveUp(event.currentTarget.value)}
          />
          <TextInput
            label="Address"
            value={url}
            onChange={(event) => setUrl(event.currentTarget.value)}
            required
            classNames={{ input: 'mono' }}
          />
          <TextInput
            label="User name"
            value={username}
            onChange={(event) => setUsername(event.currentTarget.value)}
            autoComplete="off"
          />
          <PasswordInput
            label="Password"
            placeholder={
              !node.hasPassword ? 'none' : movesAway ? 'enter it again for the new address' : 'kept as it is'
            }
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
            autoComplete="off"
            disabled={username === ''}
          />
          <TextInput
            label="Proxy"
            description="direct: none, whatever HTTP_PROXY says"
            placeholder="as HTTP_PROXY and NO_PROXY say"
            classNames={{ input: 'mono' }}
            value={proxyUrl}
            onChange={(event) => setProxyUrl(event.currentTarget.value)}
            autoComplete="off"
            spellCheck={false}
          />
          {url.startsWith('https:') && (
            <>
              <Textarea
                label="CA certificate"
                description="PEM; only for a private authority"
                placeholder={node.hasCaCertificate ? 'kept as it is' : 'none'}
                classNames={{ input: 'mono' }}
                value={caCertificate}
                onChange={(event) => setCaCertificate(event.currentTarget.value)}
              />
              <Textarea
                label="Client certificate"
                description="PEM; only for nodes that ask who we are"
                placeholder={node.hasClientCertificate ? 'kept as it is' : 'none'}
                classNames={{ input: 'mono' }}
                value={clientCertificate}
                onChange={(event) => setClientCertificate(event.currentTarget.value)}
              />
              <Textarea
                label="Key of the client certificate"
                description="PEM; kept encrypted, never shown again"
                placeholder={node.hasClientCertificate ? 'kept as it is' : 'none'}
                classNames={{ input: 'mono' }}
                value={clientKey}
                onChange={(event) => setClientKey(event.currentTarget.value)}
                error={halfCertificate ? 'The certificate and its key go together' : undefined}
                autoComplete="off"
              />
            </>
          )}
        </>
      )}
      {error !== null && (
        <p className="tone-bad" role="alert">
          {explainError(error).text}
        </p>
      )}
      <Group gap={8}>
        <Button
          type="submit"
          variant="filled"
          loading={isPending}
          disabled={'problem' in giveUpRead || halfCertificate}
        >
          Save
        </Button>
        <Button variant="subtle" color="gray" onClick={onDone}>
          Cancel
        </Button>
      </Group>
    </form>
  )
}

/** Empty: never by itself. */
function readGiveUp(text: string): { seconds: number | null } | { problem: string } {
  const read = parseLimit('wallSeconds', text)
  if ('problem' in read) return read
  if (read.value !== null && read.value < 10) return { problem: 'At least 10 s' }
  return { seconds: read.value }
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url
}
