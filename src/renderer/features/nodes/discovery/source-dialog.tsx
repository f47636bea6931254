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

/** Creates or edits a source of nodes; an existing one keeps its name. */
export function SourceDialog({ source, onClose }: { source: SourceState | null; onClose: () => void }) {
  const { client } = useApi()
  // Lines of a file of that machine become addresses that everybody sees.
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
      title={source === null ? 'Add discovery source' : `Discovery source ${source.id}`}
      size={600}
    >
      <SchemaForm form={form} className={classes.form}>
        <SegmentedControl
          {...form.within('source').input('kind')}
          aria-label="Source type"
          className={classes.first}
          data={optionsOf({ dns: 'DNS name', file: 'File', list: 'List' }).map((one) => ({
            ...one,
            disabled: one.value === 'file' && why !== null && source?.source.kind !== 'file'
          }))}
        />
        {why !== null && <p className="dim">{why.replace(/^Needs/, 'A file needs')}</p>}
        {source === null && (
          <TextInput {...form.input('id')} label="Source name" placeholder="kubernetes" maxLength={40} data-autofocus />
        )}
        <KindFields fields={form} />
        <fieldset className={classes.fields}>
          <legend>Defaults for new nodes</legend>
          <NumberInput
            {...node.input('slots')}
            label="Slots"
            placeholder="automatic"
            min={1}
            max={10_000}
            allowDecimal={false}
          />
          <NumberInput
            {...node.input('queueAhead')}
            label="Queue ahead"
            placeholder="0"
            min={0}
            max={1_000}
            allowDecimal={false}
          />
          <TextInput {...node.input('group')} label="Group" maxLength={100} />
          <TagsInput {...node.input('tags')} label="Tags" />
          <TextInput {...form.input('username')} label="User name" autoComplete="off" />
          <PasswordInput
            {...form.input('password')}
            label="Password"
            placeholder={source?.hasPassword ? 'unchanged' : 'none'}
            autoComplete="off"
            disabled={form.values.username === ''}
          />
        </fieldset>
        <p className="dim">
          Changes that you make to a node later are kept. A node that the source no longer lists is cordoned, never
          deleted.
        </p>
        <FormFoot
          form={form}
          submit={source === null ? 'Add source' : 'Save source'}
          says="The source is refreshed immediately."
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
      label="Refresh interval"
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
          label="File path"
          description="On the machine where Scrapdeck runs. One address per line, optionally with name=, slots=, tags=a,b. # starts a comment. The file is also read when it changes."
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
        label="Addresses"
        description="One address per line, optionally with name=, slots=, tags=a,b. Enter the password below: it applies to all of them."
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
        label="Host name"
        description="Fully qualified. Every address that it resolves to is a node, as with Kubernetes headless services."
        placeholder="scrapyd.crawl.svc.cluster.local"
        {...CODE_INPUT}
      />
      <ChoiceField {...source.input('record')} label="Record type" data={['A', 'AAAA', 'SRV']} />
      <ChoiceField {...source.input('scheme')} label="Protocol" data={['http', 'https']} />
      <NumberInput
        {...source.input('port')}
        label="Port"
        min={1}
        max={65_535}
        allowDecimal={false}
        disabled={record === 'SRV'}
        description={record === 'SRV' ? 'Taken from the SRV records' : undefined}
      />
      <TextInput {...source.input('basePath')} label="Base path" {...CODE_INPUT} />
      {refresh}
    </div>
  )
}
