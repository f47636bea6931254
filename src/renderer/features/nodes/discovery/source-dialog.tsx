import {
  Button,
  Modal,
  NumberInput,
  PasswordInput,
  SegmentedControl,
  TagsInput,
  Textarea,
  TextInput
} from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { SourceState } from '../../../../shared/contract/index.ts'
import { useApi } from '../../../api/api.tsx'
import { FormFailure } from '../../../ui/fields/form-failure.tsx'
import classes from './discovery.module.css'
import { formOfSource, NEW_SOURCE, readSource, type SourceForm } from './source-form.ts'

/** Sets a source of nodes up, or changes one; its name stays. */
export function SourceDialog({ source, onClose }: { source: SourceState | null; onClose: () => void }) {
  const { query } = useApi()
  const [form, setForm] = useState(() => (source === null ? NEW_SOURCE : formOfSource(source)))
  const { mutate, isPending, error } = useMutation(query.discovery.put.mutationOptions({ onSuccess: onClose }))
  const change = (patch: Partial<SourceForm>) => setForm((before) => ({ ...before, ...patch }))
  const read = readSource(form)
  return (
    <Modal
      opened
      onClose={onClose}
      title={source === null ? 'Add a source of nodes' : `Source ${source.id}`}
      size={600}
    >
      <form
        className={classes.form}
        onSubmit={(event) => {
          event.preventDefault()
          if ('input' in read) mutate(read.input)
        }}
      >
        <SegmentedControl
          aria-label="What names the nodes"
          className={classes.first}
          value={form.kind}
          onChange={(kind) => change({ kind: kind as SourceForm['kind'] })}
          data={[
            { value: 'dns', label: 'DNS name' },
            { value: 'file', label: 'File' },
            { value: 'list', label: 'List' }
          ]}
        />
        {source === null && (
          <TextInput
            label="Name of the source"
            placeholder="kubernetes"
            value={form.id}
            onChange={(event) => change({ id: event.currentTarget.value })}
            maxLength={40}
            data-autofocus
          />
        )}
        <KindFields form={form} onChange={change} />
        <fieldset className={classes.fields}>
          <legend>Its nodes begin with</legend>
          <NumberInput
            label="Slots"
            placeholder="automatic"
            min={1}
            max={10_000}
            allowDecimal={false}
            value={form.slots ?? ''}
            onChange={(value) => change({ slots: typeof value === 'number' ? value : null })}
          />
          <NumberInput
            label="Queue ahead"
            placeholder="0"
            min={0}
            max={1_000}
            allowDecimal={false}
            value={form.queueAhead ?? ''}
            onChange={(value) => change({ queueAhead: typeof value === 'number' ? value : null })}
          />
          <TextInput
            label="Group"
            value={form.group}
            maxLength={100}
            onChange={(event) => change({ group: event.currentTarget.value })}
          />
          <TagsInput label="Tags" value={[...form.tags]} onChange={(tags) => change({ tags })} />
          <TextInput
            label="User name"
            value={form.username}
            autoComplete="off"
            onChange={(event) => change({ username: event.currentTarget.value })}
          />
          <PasswordInput
            label="Password"
            placeholder={source?.hasPassword ? 'kept as it is' : 'none'}
            value={form.password}
            autoComplete="off"
            disabled={form.username === ''}
            onChange={(event) => change({ password: event.currentTarget.value })}
          />
        </fieldset>
        <p className="dim">
          What you change on a node afterwards stays. A node that is named no longer is cordoned, never deleted.
        </p>
        <FormFailure error={error} />
        <footer className={classes.foot}>
          <span className={classes.grow} role="status">
            {'missing' in read ? read.missing : 'It is asked at once.'}
          </span>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="filled" loading={isPending} disabled={'missing' in read}>
            {source === null ? 'Add' : 'Save'}
          </Button>
        </footer>
      </form>
    </Modal>
  )
}

function KindFields({ form, onChange }: { form: SourceForm; onChange: (patch: Partial<SourceForm>) => void }) {
  const refresh = (
    <NumberInput
      label="Asked again every"
      suffix=" s"
      min={5}
      max={86_400}
      allowDecimal={false}
      value={form.refreshSeconds ?? ''}
      onChange={(value) => onChange({ refreshSeconds: typeof value === 'number' ? value : null })}
    />
  )
  if (form.kind === 'file') {
    return (
      <div className={classes.fields}>
        <TextInput
          className={classes.wide}
          label="Path of the file"
          description="On the machine where Scrapdeck runs. One address a line, then name=, slots=, tags=a,b; # begins a comment. Also read when it changes."
          placeholder="/etc/scrapdeck/nodes.txt"
          value={form.path}
          classNames={{ input: 'mono' }}
          spellCheck={false}
          onChange={(event) => onChange({ path: event.currentTarget.value })}
        />
        {refresh}
      </div>
    )
  }
  if (form.kind === 'list') {
    return (
      <Textarea
        label="Addresses"
        description="One a line, then name=, slots=, tags=a,b. No passwords: those are given below, for all of them."
        placeholder={'http://eu-1:6800 name=eu-1 slots=8\nhttps://eu-2/scrapyd/'}
        value={form.nodes}
        autosize
        minRows={4}
        maxRows={12}
        classNames={{ input: 'mono' }}
        spellCheck={false}
        onChange={(event) => onChange({ nodes: event.currentTarget.value })}
      />
    )
  }
  return (
    <div className={classes.fields}>
      <TextInput
        className={classes.wide}
        label="Host name"
        description="Whole: every address of it is a node, as Kubernetes’ headless services give them."
        placeholder="scrapyd.crawl.svc.cluster.local"
        value={form.hostname}
        classNames={{ input: 'mono' }}
        spellCheck={false}
        onChange={(event) => onChange({ hostname: event.currentTarget.value })}
      />
      <div>
        <span className={classes.label} id="source-record">
          Records
        </span>
        <SegmentedControl
          aria-labelledby="source-record"
          value={form.record}
          onChange={(record) => onChange({ record: record as SourceForm['record'] })}
          data={['A', 'AAAA', 'SRV']}
        />
      </div>
      <div>
        <span className={classes.label} id="source-scheme">
          Spoken to over
        </span>
        <SegmentedControl
          aria-labelledby="source-scheme"
          value={form.scheme}
          onChange={(scheme) => onChange({ scheme: scheme as SourceForm['scheme'] })}
          data={['http', 'https']}
        />
      </div>
      <NumberInput
        label="Port"
        min={1}
        max={65_535}
        allowDecimal={false}
        disabled={form.record === 'SRV'}
        description={form.record === 'SRV' ? 'as the records say' : undefined}
        value={form.port ?? ''}
        onChange={(value) => onChange({ port: typeof value === 'number' ? value : null })}
      />
      <TextInput
        label="Base path"
        value={form.basePath}
        classNames={{ input: 'mono' }}
        onChange={(event) => onChange({ basePath: event.currentTarget.value })}
      />
      {refresh}
    </div>
  )
}
