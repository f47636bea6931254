import { Dialog } from '../../ui/dialog.tsx'
import { Checkbox, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Webhook, WebhookEvent, WebhookSettings } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useFormOf } from '../../ui/fields/form-of-schema.ts'
import { FormFoot, SchemaForm } from '../../ui/fields/schema-form.tsx'
import { EVENT_GROUPS, startWebhook, WebhookForm, type WebhookTexts } from './webhook-form.ts'
import fields from '../../ui/fields/form.module.css'
import classes from './webhooks.module.css'
import { Select } from '../../ui/fields/select.tsx'
import { CODE_INPUT } from '../../ui/fields/code-input.ts'
import { texts } from '../../../shared/texts/ui/webhooks.ts'

interface WebhookDialogProps {
  webhook: Webhook | null
  onClose: () => void
  onCreated: (created: { webhook: Webhook; secret: string }) => void
}

export function WebhookDialog({ webhook, onClose, onCreated }: WebhookDialogProps) {
  const { client, query } = useApi()
  const projects = useQuery(query.projects.list.queryOptions()).data?.projects ?? []
  const form = useFormOf<WebhookTexts, WebhookSettings>({
    schema: WebhookForm,
    start: () => startWebhook(webhook),
    save: async (settings) => {
      const created = webhook === null ? await client.webhooks.create(settings) : null
      if (webhook !== null) await client.webhooks.update({ ...settings, id: webhook.id })
      onClose()
      if (created !== null) onCreated(created)
    }
  })
  const { url, events, project } = form.values
  const toggle = (event: WebhookEvent) =>
    form.change({ events: events.includes(event) ? events.filter((each) => each !== event) : [...events, event] })
  const projectNames = [...new Set([...projects.map(({ name }) => name), ...(project ? [project] : [])])]
  return (
    <Dialog
      opened
      onClose={onClose}
      title={webhook === null ? texts.addWebhook : texts.editTitle(webhook.name)}
      size={520}
    >
      <SchemaForm form={form}>
        <TextInput
          {...form.input('url')}
          label={texts.url}
          placeholder="https://example.net/scrapdeck"
          description={texts.urlHint}
          {...CODE_INPUT}
          autoFocus={webhook === null}
        />
        <div className={fields.pair}>
          <TextInput
            {...form.input('name')}
            label={texts.name}
            placeholder={URL.canParse(url) ? new URL(url).hostname : texts.namePlaceholder}
            maxLength={200}
          />
          <Select
            {...form.input('project')}
            label={texts.project}
            placeholder={texts.allProjects}
            clearable
            searchable
            data={projectNames}
          />
        </div>
        <fieldset className={classes.events} aria-describedby="webhook-events">
          <legend>{texts.events}</legend>
          {EVENT_GROUPS.map(({ title, events: known }) => (
            <div key={title} role="group" aria-label={title}>
              <strong>{title}</strong>
              {known.map(({ value, words }) => (
                <Checkbox
                  key={value}
                  label={words}
                  checked={events.includes(value)}
                  onChange={() => toggle(value)}
                  title={value}
                />
              ))}
            </div>
          ))}
          {form.error('events') !== undefined && (
            <p id="webhook-events" className={`${classes.eventsError} small`}>
              {form.error('events')}
            </p>
          )}
        </fieldset>
        <FormFoot form={form} submit={webhook === null ? texts.addWebhook : texts.saveWebhook} onCancel={onClose} />
      </SchemaForm>
    </Dialog>
  )
}
