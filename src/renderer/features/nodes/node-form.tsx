import { Autocomplete, Button, Group, NumberInput, PasswordInput, TagsInput, Textarea, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { z } from 'zod'
import { type Node, type NodeAddress, NodeSettings } from '../../../shared/contract/index.ts'
import { nameOfSshHost, splitAddress } from '../../../shared/ssh-address.ts'
import { formatDuration } from '../../../shared/time.ts'
import { useApi } from '../../api/api.tsx'
import { useOwnNodeGroups } from '../../api/use-me.ts'
import { FormFailure } from '../../ui/fields/form-failure.tsx'
import { useFormOf } from '../../ui/fields/form-of-schema.ts'
import { SchemaForm } from '../../ui/fields/schema-form.tsx'
import { durationText, numberText, textOrNull } from '../../ui/fields/texts.ts'
import { CODE_INPUT } from '../../ui/fields/code-input.ts'
import { texts } from '../../../shared/texts/ui/nodes.ts'

type NodeChange = NodeSettings & Partial<NodeAddress>

/** Sends only the changes. An empty password field keeps the saved password. */
export function NodeForm({ node, onDone }: { node: Node; onDone: () => void }) {
  const { client, query } = useApi()
  const { data: fleet } = useQuery(query.nodes.list.queryOptions())
  const ownGroups = useOwnNodeGroups()
  const [schema] = useState(() => nodeForm(node))
  const form = useFormOf<NodeTexts, NodeChange>({
    schema,
    start: () => startNode(node),
    save: async (change) => {
      if (Object.keys(change).length > 0) await client.nodes.update({ id: node.id, ...change })
      onDone()
    }
  })
  const { url, username, proxyUrl } = form.values
  // The engine sends a password only to the machine and through the proxy for which it was entered.
  const movesAway = originOf(url) !== originOf(node.url)
  const hasNewProxy = !['', 'direct', node.proxyUrl ?? ''].includes(proxyUrl.trim())
  const kept = movesAway ? texts.passwordForNewAddress : hasNewProxy ? texts.passwordForNewProxy : texts.unchanged
  const certificate = (has: boolean) => ({
    placeholder: has ? texts.unchanged : texts.none,
    classNames: { input: 'mono' }
  })
  return (
    <SchemaForm form={form} gap={10} onEscape={onDone}>
      <TextInput {...form.input('name')} label={texts.name} data-autofocus />
      <NumberInput
        {...form.input('slots')}
        label={texts.slots}
        description={texts.slotsHint}
        placeholder={texts.slotsAutomaticNow(node.slots)}
        min={1}
        max={10_000}
        allowDecimal={false}
      />
      <TagsInput
        {...form.input('tags')}
        label={texts.tags}
        description={ownGroups === null ? texts.tagsHint : texts.ownTagsHint(ownGroups.join(', '))}
        data={ownGroups ?? [...new Set((fleet?.nodes ?? []).flatMap((each) => each.tags))]}
      />
      <Autocomplete
        {...form.input('group')}
        label={texts.group}
        description={texts.groupHint}
        placeholder={texts.none}
        data={[...new Set((fleet?.nodes ?? []).flatMap((each) => each.group ?? []))].sort()}
      />
      {node.kind !== 'local' && (
        <>
          <NumberInput
            {...form.input('queueAhead')}
            label={texts.queueAhead}
            description={texts.queueAheadHint}
            min={0}
            max={1_000}
            allowDecimal={false}
          />
          <TextInput
            {...form.input('giveUpAfterSeconds')}
            label={texts.giveUpAfter}
            description={texts.giveUpAfterHint}
            placeholder={texts.giveUpAfterPlaceholder}
            title={texts.giveUpAfterExample}
          />
        </>
      )}
      {node.kind === 'scrapyd' && (
        <>
          <NumberInput
            {...form.input('logsKept')}
            label={texts.logsKept}
            description={texts.logsKeptHint}
            placeholder={texts.unknown}
            min={1}
            max={100_000}
            allowDecimal={false}
          />
          <TextInput {...form.input('url')} label={texts.address} description={texts.addressHint} {...CODE_INPUT} />
          <TextInput {...form.input('username')} label={texts.userName} autoComplete="off" />
          <PasswordInput
            {...form.input('password')}
            label={texts.password}
            placeholder={node.hasPassword ? kept : texts.none}
            autoComplete="off"
            disabled={username === ''}
          />
          {(splitAddress(url).ssh === null || proxyUrl !== '') && (
            <TextInput
              {...form.input('proxyUrl')}
              label={texts.proxy}
              description={texts.proxyHint}
              placeholder={texts.proxyPlaceholder}
              {...CODE_INPUT}
            />
          )}
          {splitAddress(url).inner.startsWith('https:') && (
            <>
              <Textarea
                {...form.input('caCertificate')}
                {...certificate(node.hasCaCertificate)}
                label={texts.caCertificate}
                description={texts.caCertificateHint}
              />
              <Textarea
                {...form.input('clientCertificate')}
                {...certificate(node.hasClientCertificate)}
                label={texts.clientCertificate}
                description={texts.clientCertificateHint}
              />
              <Textarea
                {...form.input('clientKey')}
                {...certificate(node.hasClientCertificate)}
                label={texts.clientKey}
                description={texts.clientKeyHint}
                autoComplete="off"
              />
            </>
          )}
        </>
      )}
      <FormFailure error={form.failure} />
      <Group gap={8}>
        <Button type="submit" variant="filled" loading={form.isSaving}>
          {texts.saveNode}
        </Button>
        <Button variant="subtle" color="gray" onClick={onDone}>
          {texts.cancel}
        </Button>
      </Group>
    </SchemaForm>
  )
}

const startNode = (node: Node) => ({
  name: node.name,
  slots: node.slotsSource === 'set' ? node.slots : '',
  tags: node.tags,
  group: node.group ?? '',
  queueAhead: node.queueAhead as number | string,
  giveUpAfterSeconds: node.giveUpAfterSeconds === null ? '' : formatDuration(node.giveUpAfterSeconds),
  logsKept: (node.logsKept ?? '') as number | string,
  url: node.url,
  username: node.username ?? '',
  password: '',
  proxyUrl: node.proxyUrl ?? '',
  caCertificate: '',
  clientCertificate: '',
  clientKey: ''
})
type NodeTexts = ReturnType<typeof startNode>

const { shape } = NodeSettings
/** undefined keeps the saved value. */
const unlessEmpty = z.string().transform((text) => text || undefined)

function nodeForm(node: Node): z.ZodType<NodeChange, NodeTexts> {
  const whole = z
    .object({
      name: z.string().trim().min(1, texts.enterName).pipe(shape.name.unwrap()),
      slots: numberText(shape.slots, null),
      tags: shape.tags.unwrap(),
      group: textOrNull,
      queueAhead: numberText(shape.queueAhead.unwrap(), 0),
      giveUpAfterSeconds: durationText(shape.giveUpAfterSeconds, null),
      logsKept: numberText(shape.logsKept, null),
      url: z
        .string()
        .trim()
        .min(node.kind === 'scrapyd' ? 1 : 0, texts.addressMissing),
      username: textOrNull,
      password: unlessEmpty,
      proxyUrl: textOrNull,
      caCertificate: unlessEmpty,
      clientCertificate: unlessEmpty,
      clientKey: unlessEmpty
    })
    .refine(({ clientCertificate, clientKey }) => (clientCertificate === undefined) === (clientKey === undefined), {
      path: ['clientKey'],
      error: texts.clientKeyMissing
    })
    .transform((form) => ({ ...form, password: form.username === null ? null : form.password }))
  const before: Record<string, unknown> = whole.safeParse(startNode(node)).data ?? {}
  return whole.transform((after) =>
    Object.fromEntries(
      Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]))
    )
  ) as never
}

function originOf(url: string): string {
  const { ssh, inner } = splitAddress(url)
  const origin = URL.parse(inner)?.origin ?? inner
  return ssh === null ? origin : `${nameOfSshHost(ssh)} ${origin}`
}
