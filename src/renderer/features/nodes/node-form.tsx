import { Button, Group, NumberInput, PasswordInput, TagsInput, Textarea, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Node, NodeAddress, NodeSettings } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { explainError } from '../../api/explain-error.ts'
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
      {node.kind === 'scrapyd' && (
        <>
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
          {url.startsWith('https:') && (
            <Textarea
              label="CA certificate"
              description="PEM; only for a private authority"
              placeholder={node.hasCaCertificate ? 'kept as it is' : 'none'}
              classNames={{ input: 'mono' }}
              value={caCertificate}
              onChange={(event) => setCaCertificate(event.currentTarget.value)}
            />
          )}
        </>
      )}
      {error !== null && (
        <p className="tone-bad" role="alert">
          {explainError(error).text}
        </p>
      )}
      <Group gap={8}>
        <Button type="submit" variant="filled" loading={isPending}>
          Save
        </Button>
        <Button variant="subtle" color="gray" onClick={onDone}>
          Cancel
        </Button>
      </Group>
    </form>
  )
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url
}
