import { Checkbox, Chip, Group, NumberInput, PasswordInput, TagsInput, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { MAX_MESSAGES_PER_HOUR } from '../../../shared/contract/fixed-values.ts'
import type { AlertChannel } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { ChoiceField, optionsOf } from '../../ui/fields/choice-field.tsx'
import { CODE_INPUT } from '../../ui/fields/code-input.ts'
import form from '../../ui/fields/form.module.css'
import { useFormOf } from '../../ui/fields/form-of-schema.ts'
import { FormFoot, SchemaForm } from '../../ui/fields/schema-form.tsx'
import { MultiSelect, Select, ZoneSelect } from '../../ui/fields/select.tsx'
import { localZone } from '../../ui/moment.ts'
import { CHANNEL_KINDS, dayName, dayWord, WEEK } from './alert-words.ts'
import {
  type AskedChannel,
  channelForm,
  type ChannelTexts,
  nameOf,
  PAGERDUTY_URL,
  SECRETS,
  startChannel,
  takesReports
} from './channel-form.ts'
import { texts } from '../../../shared/texts/ui/alerts.ts'

interface ChannelDialogProps {
  channel: AlertChannel | null
  onClose: () => void
  onCreated: (created: { channel: AlertChannel; secret?: string | undefined }) => void
}

const SECURITY: Record<ChannelTexts['security'], string> = {
  starttls: 'STARTTLS',
  tls: 'TLS',
  none: texts.none
}
const DIGESTS: Record<ChannelTexts['digestEvery'], string> = {
  off: texts.offWord,
  day: texts.eachDay,
  week: texts.eachWeek
}
const PORTS = { starttls: 587, tls: 465, none: 25 } as const

export function ChannelDialog({ channel, onClose, onCreated }: ChannelDialogProps) {
  const { client, query } = useApi()
  const projects = useQuery(query.projects.list.queryOptions()).data?.projects ?? []
  const hasSecret = channel?.hasSecret === true
  const schema = useMemo(() => channelForm(hasSecret), [hasSecret])
  const fields = useFormOf<ChannelTexts, AskedChannel>({
    schema,
    start: () => startChannel(channel, localZone()),
    save: async ({ settings, secret }) => {
      const given = { ...settings, ...(secret !== undefined && { secret }) }
      const created = channel === null ? await client.alertChannels.create(given) : null
      if (channel !== null) await client.alertChannels.update({ ...given, id: channel.id })
      onClose()
      if (created !== null) onCreated(created)
    }
  })
  const { kind, hasQuiet, quietDays } = fields.values
  const secret = SECRETS[kind]
  return (
    <Dialog
      opened
      onClose={onClose}
      title={channel === null ? texts.addChannel : texts.editNamed(channel.name)}
      size={520}
    >
      <SchemaForm form={fields}>
        <div className={form.pair}>
          <Select
            {...fields.input('kind')}
            label={texts.kind}
            data={optionsOf(CHANNEL_KINDS)}
            allowDeselect={false}
            disabled={channel !== null}
            data-autofocus={channel === null || undefined}
          />
          <TextInput {...fields.input('name')} label={texts.name} placeholder={nameOf(fields.values)} maxLength={200} />
        </div>
        {kind === 'email' && <MailFields fields={fields} />}
        {kind === 'telegram' && (
          <TextInput
            {...fields.input('chatId')}
            label={texts.chat}
            description={texts.chatHint}
            placeholder="-1001234567890"
            {...CODE_INPUT}
          />
        )}
        {kind === 'webhook' && (
          <TextInput
            {...fields.input('url')}
            label="URL"
            placeholder="https://example.net/alerts"
            description={texts.webhookHint}
            {...CODE_INPUT}
          />
        )}
        {kind === 'pagerduty' && (
          <TextInput
            {...fields.input('url')}
            label={texts.eventsApi}
            placeholder={PAGERDUTY_URL}
            description={texts.eventsApiHint}
            {...CODE_INPUT}
          />
        )}
        {kind === 'command' && (
          <TextInput
            {...fields.input('command')}
            label={texts.command}
            description={texts.commandHint}
            {...CODE_INPUT}
          />
        )}
        {kind === 'plugin' && (
          <TextInput {...fields.input('plugin')} label={texts.plugin} description={texts.pluginHint} {...CODE_INPUT} />
        )}
        {kind === 'desktop' && <p className="dim small">{texts.desktopHint}</p>}
        {secret !== null && (
          <PasswordInput
            {...fields.input('secret')}
            size="xs"
            label={secret.label}
            description={secret.help}
            placeholder={hasSecret ? texts.secretStored : undefined}
            autoComplete="new-password"
          />
        )}
        <Checkbox {...fields.input('hasQuiet', 'checkbox')} label={texts.hasQuietHours} />
        {hasQuiet && (
          <>
            <div className={form.pair}>
              <TextInput {...fields.input('quietFrom')} type="time" label={texts.from} />
              <TextInput {...fields.input('quietUntil')} type="time" label={texts.until} />
            </div>
            <div>
              <span className={form.label} id="quiet-days">
                {texts.beginOn}
              </span>
              <Chip.Group
                multiple
                value={quietDays.map(String)}
                onChange={(days) => fields.change({ quietDays: days.map(Number) })}
              >
                <Group gap={6} role="group" aria-labelledby="quiet-days">
                  {WEEK.map((day) => (
                    <Chip key={day} value={String(day)} size="xs">
                      {dayWord(day)}
                    </Chip>
                  ))}
                </Group>
              </Chip.Group>
              {fields.error('quietDays') !== undefined && <p className="tone-bad">{fields.error('quietDays')}</p>}
            </div>
            <ZoneSelect {...fields.input('quietZone')} label={texts.timeZone} />
          </>
        )}
        <NumberInput
          {...fields.input('messagesPerHour')}
          label={texts.messagesPerHour}
          description={texts.messagesPerHourHint}
          placeholder={texts.noLimit}
          min={1}
          max={MAX_MESSAGES_PER_HOUR}
          allowDecimal={false}
        />
        <MultiSelect
          {...fields.input('projects')}
          label={texts.projects}
          description={texts.channelProjectsHint}
          placeholder={fields.values.projects.length === 0 ? texts.allProjects : undefined}
          searchable
          nothingFoundMessage={texts.noSuchProject}
          data={[...new Set([...fields.values.projects, ...projects.map(({ name }) => name)])]}
        />
        {takesReports(kind) && <DigestFields fields={fields} />}
        <FormFoot form={fields} submit={channel === null ? texts.addChannel : texts.saveChannel} onCancel={onClose} />
      </SchemaForm>
    </Dialog>
  )
}

type ChannelFields = ReturnType<typeof useFormOf<ChannelTexts, AskedChannel>>

function DigestFields({ fields }: { fields: ChannelFields }) {
  const { digestEvery: every } = fields.values
  return (
    <>
      <ChoiceField
        {...fields.input('digestEvery')}
        label={texts.report}
        data={optionsOf(DIGESTS)}
        note={texts.reportHint}
      />
      {every !== 'off' && (
        <>
          <div className={form.pair}>
            {every === 'week' && (
              <Select
                {...fields.input('digestWeekday')}
                label={texts.onDay}
                data={WEEK.map((day) => ({ value: String(day), label: dayName(day) }))}
                allowDeselect={false}
              />
            )}
            <TextInput {...fields.input('digestAt')} type="time" label={texts.atTime} />
            {every === 'day' && <ZoneField fields={fields} />}
          </div>
          {every === 'week' && <ZoneField fields={fields} />}
        </>
      )}
    </>
  )
}

const ZoneField = ({ fields }: { fields: ChannelFields }) => (
  <ZoneSelect {...fields.input('digestZone')} label={texts.reportTimeZone} />
)

function MailFields({ fields }: { fields: ChannelFields }) {
  return (
    <>
      <TagsInput
        {...fields.input('to')}
        label={texts.recipients}
        placeholder={fields.values.to.length === 0 ? 'oncall@example.net' : undefined}
        splitChars={[',', ' ', ';']}
        acceptValueOnBlur
      />
      <TextInput {...fields.input('from')} label={texts.from} placeholder="scrapdeck@example.net" />
      <div className={form.pair}>
        <TextInput {...fields.input('host')} label={texts.mailServer} placeholder="mail.example.net" {...CODE_INPUT} />
        <TextInput {...fields.input('port')} label={texts.port} inputMode="numeric" />
      </div>
      <div className={form.pair}>
        <ChoiceField
          {...fields.input('security')}
          label={texts.encryption}
          data={optionsOf(SECURITY)}
          onChange={(security: ChannelTexts['security']) => fields.change({ security, port: PORTS[security] })}
        />
        <TextInput {...fields.input('username')} label={texts.userName} placeholder={texts.none} autoComplete="off" />
      </div>
    </>
  )
}
