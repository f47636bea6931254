import { Dialog } from '../../../ui/dialog.tsx'
import { NumberInput, PasswordInput, SegmentedControl, TagsInput, Textarea, TextInput } from '@mantine/core'
import type { SourceState } from '../../../../shared/contract/index.ts'
import { useApi } from '../../../api/api.tsx'
import { useMay } from '../../../api/use-me.ts'
import { type Fields, useFormOf } from '../../../ui/fields/form-of-schema.ts'
import { FormFoot, SchemaForm } from '../../../ui/fields/schema-form.tsx'
import classes from './discovery.module.css'
import { SourceForm, type SourceInput, type SourceTexts, startSource } from './source-form.ts'
import { optionsOf, ChoiceField } from '../../../ui/fields/choice-field.tsx'
import { CODE_INPUT } from '../../../ui/fields/code-input.ts'
import { texts } from '../../../../shared/texts/ui/nodes.ts'

export function SourceDialog({ source, onClose }: { source: SourceState | null; onClose: () => void }) {
  const { client } = useApi()
  // All users can see the addresses, so a file source could reveal the lines of any file on the machine.
  const { why } = useMay('users.change', 'everywhere')
  const form = useFormOf<SourceTexts, SourceInput>({
    schema: SourceForm,
    start: () => startSource(source),
    save: async (input) => {
      await client.discovery.put(input)
      onClose()
    }
  })
  const node = form.within('node')
  return (
    <Dialog
      opened
      onClose={onClose}
      title={source === null ? texts.addDiscoverySource : texts.editSourceTitle(source.id)}
      size={600}
    >
      <SchemaForm form={form} gap={12}>
        <SegmentedControl
          {...form.within('source').input('kind')}
          aria-label={texts.sourceType}
          className={classes.first}
          data={optionsOf({ dns: texts.dnsName, file: texts.file, list: texts.list }).map((one) => ({
            ...one,
            disabled: one.value === 'file' && why !== null && source?.source.kind !== 'file'
          }))}
        />
        {why !== null && <p className="dim">{texts.fileNotAllowed(why)}</p>}
        {source === null && (
          <TextInput
            {...form.input('id')}
            label={texts.sourceName}
            placeholder="kubernetes"
            maxLength={40}
            data-autofocus
          />
        )}
        <KindFields fields={form} />
        <fieldset className={classes.fields}>
          <legend>{texts.defaultsForNewNodes}</legend>
          <NumberInput
            {...node.input('slots')}
            label={texts.slots}
            placeholder={texts.slotsAutomatic}
            min={1}
            max={10_000}
            allowDecimal={false}
          />
          <NumberInput
            {...node.input('queueAhead')}
            label={texts.queueAhead}
            placeholder="0"
            min={0}
            max={1_000}
            allowDecimal={false}
          />
          <TextInput {...node.input('group')} label={texts.group} maxLength={100} />
          <TagsInput {...node.input('tags')} label={texts.tags} />
          <TextInput {...form.input('username')} label={texts.userName} autoComplete="off" />
          <PasswordInput
            {...form.input('password')}
            label={texts.password}
            placeholder={source?.hasPassword ? texts.unchanged : texts.none}
            autoComplete="off"
            disabled={form.values.username === ''}
          />
        </fieldset>
        <p className="dim">{texts.sourceHint}</p>
        <FormFoot
          form={form}
          submit={source === null ? texts.addSource : texts.saveSource}
          says={texts.saveSourceHint}
          onCancel={onClose}
        />
      </SchemaForm>
    </Dialog>
  )
}

function KindFields({ fields }: { fields: Fields<SourceTexts> }) {
  const source = fields.within('source')
  const { kind, record } = source.values
  const refresh = (
    <NumberInput
      {...fields.input('refreshSeconds')}
      label={texts.refreshInterval}
      suffix=" s"
      min={5}
      max={86_400}
      allowDecimal={false}
    />
  )
  if (kind === 'file') {
    return (
      <div className={classes.fields}>
        <TextInput
          {...source.input('path')}
          className={classes.wide}
          label={texts.filePath}
          description={texts.filePathHint}
          placeholder="/etc/scrapdeck/nodes.txt"
          {...CODE_INPUT}
        />
        {refresh}
      </div>
    )
  }
  if (kind === 'list') {
    return (
      <Textarea
        {...source.input('nodes')}
        label={texts.addresses}
        description={texts.addressesHint}
        placeholder={'http://eu-1:6800 name=eu-1 slots=8\nhttps://eu-2/scrapyd/'}
        autosize
        minRows={4}
        maxRows={12}
        {...CODE_INPUT}
      />
    )
  }
  return (
    <div className={classes.fields}>
      <TextInput
        {...source.input('hostname')}
        className={classes.wide}
        label={texts.hostName}
        description={texts.hostNameHint}
        placeholder="scrapyd.crawl.svc.cluster.local"
        {...CODE_INPUT}
      />
      <ChoiceField {...source.input('record')} label={texts.recordType} data={['A', 'AAAA', 'SRV']} />
      <ChoiceField {...source.input('scheme')} label={texts.protocol} data={['http', 'https']} />
      <NumberInput
        {...source.input('port')}
        label={texts.port}
        min={1}
        max={65_535}
        allowDecimal={false}
        disabled={record === 'SRV'}
        description={record === 'SRV' ? texts.portFromSrv : undefined}
      />
      <TextInput {...source.input('basePath')} label={texts.basePath} {...CODE_INPUT} />
      {refresh}
    </div>
  )
}
