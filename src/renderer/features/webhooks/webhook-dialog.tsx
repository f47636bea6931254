import { Button, Checkbox, Modal, Select, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Webhook, WebhookEvent } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { DialogFoot } from '../../ui/dialog-foot.tsx'
import { FormFailure } from '../../ui/fields/form-failure.tsx'
import { EVENT_GROUPS, readWebhook, startWebhook, type WebhookForm } from './webhook-form.ts'
import classes from './webhooks.module.css'

interface WebhookDialogProps {
  /** null: a new one. */
  webhook: Webhook | null
  onClose: () => void
  onCreated: (created: { webhook: Webhook; secret: string }) => void
}

/** Where to send, and what. */
export function WebhookDialog({ webhook, onClose, onCreated }: WebhookDialogProps) {
  const { query } = useApi()
  const projects = useQuery(query.projects.list.queryOptions()).data?.projects ?? []
  const [form, setForm] = useState(() => startWebhook(webhook))
  const create = useMutation(
    query.webhooks.create.mutationOptions({
      onSuccess: (created) => {
        onClose()
        onCreated(created)
      }
    })
  )
  const update = useMutation(query.webhooks.update.mutationOptions({ onSuccess: onClose }))
  const read = readWebhook(form)
  const change = (patch: Partial<WebhookForm>) => {
    create.reset()
    update.reset()
    setForm((before) => ({ ...before, ...patch }))
  }
  const save = () => {
    if ('missing' in read) return
    if (webhook === null) create.mutate(read.settings)
    else update.mutate({ ...read.settings, id: webhook.id })
  }
  const toggle = (event: WebhookEvent) =>
    change({
      events: form.events.includes(event) ? form.events.filter((each) => each !== event) : [...form.events, event]
    })
  const projectNames = [...new Set([...projects.map(({ name }) => name), ...(form.project ? [form.project] : [])])]
  return (
    <Modal opened onClose={onClose} title={webhook === null ? 'Add a webhook' : `Edit ${webhook.name}`} size={520}>
      <form
        className={classes.form}
        onSubmit={(event) => {
          event.preventDefault()
          save()
        }}
      >
        <TextInput
          label="Address"
          placeholder="https://example.net/scrapdeck"
          description="Each event is posted there as JSON. Addresses inside this network are refused unless the configuration allows them."
          value={form.url}
          onChange={(event) => change({ url: event.currentTarget.value })}
          classNames={{ input: 'mono' }}
          spellCheck={false}
          autoFocus={webhook === null}
        />
        <div className={classes.pair}>
          <TextInput
            label="Name"
            placeholder={URL.canParse(form.url) ? new URL(form.url).hostname : 'as its host'}
            value={form.name}
            maxLength={200}
            onChange={(event) => change({ name: event.currentTarget.value })}
          />
          <Select
            label="Only of the project"
            placeholder="all projects"
            clearable
            searchable
            data={projectNames}
            value={form.project}
            onChange={(project) => change({ project })}
          />
        </div>
        <fieldset className={classes.events}>
          <legend>Told when</legend>
          {EVENT_GROUPS.map(({ title, events }) => (
            <div key={title} role="group" aria-label={title}>
              <strong>{title}</strong>
              {events.map(({ value, words }) => (
                <Checkbox
                  key={value}
                  label={words}
                  checked={form.events.includes(value)}
                  onChange={() => toggle(value)}
                  title={value}
                />
              ))}
            </div>
          ))}
        </fieldset>
        <FormFailure error={create.error ?? update.error} />
        <DialogFoot says={'missing' in read ? read.missing : ''}>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            variant="filled"
            loading={create.isPending || update.isPending}
            disabled={'missing' in read}
          >
            {webhook === null ? 'Add' : 'Save'}
          </Button>
        </DialogFoot>
      </form>
    </Modal>
  )
}
