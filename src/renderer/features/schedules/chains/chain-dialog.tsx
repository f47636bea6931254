import { Autocomplete, Button, Modal, SegmentedControl, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Chain } from '../../../../shared/contract/index.ts'
import { useApi } from '../../../api/api.tsx'
import { DialogFoot } from '../../../ui/dialog-foot.tsx'
import { FormFailure } from '../../../ui/fields/form-failure.tsx'
import { TemplateFields } from '../editor/template-fields.tsx'
import { type ChainForm, readChain, startChain } from './chain-form.ts'
import { ENDINGS } from './chain-words.tsx'
import classes from './chains.module.css'

/** After what, on which ending, run what. */
export function ChainDialog({ chain, onClose }: { chain: Chain | null; onClose: () => void }) {
  const { query } = useApi()
  const projects = useQuery(query.projects.list.queryOptions()).data?.projects ?? []
  const [form, setForm] = useState(() => startChain(chain))
  const create = useMutation(query.chains.create.mutationOptions({ onSuccess: onClose }))
  const update = useMutation(query.chains.update.mutationOptions({ onSuccess: onClose }))
  const read = readChain(form, chain?.enabled ?? true)
  const change = (patch: Partial<ChainForm>) => {
    create.reset()
    update.reset()
    setForm((before) => ({ ...before, ...patch }))
  }
  const save = () => {
    if ('missing' in read) return
    if (chain === null) create.mutate(read.settings)
    else update.mutate({ ...read.settings, id: chain.id })
  }
  const project = projects.find(({ name }) => name === form.project)
  const spiders = project?.versions.find(({ version }) => version === project.latestVersion)?.spiders ?? []
  return (
    <Modal opened onClose={onClose} title={chain === null ? 'Add a chain' : `Edit ${chain.name}`} size={640}>
      <form
        className={classes.form}
        onSubmit={(event) => {
          event.preventDefault()
          save()
        }}
      >
        <fieldset className={classes.part}>
          <legend>When a job of</legend>
          <div className={classes.pair}>
            <Autocomplete
              label="Project"
              placeholder="* is any"
              data={projects.map(({ name }) => name)}
              value={form.project ?? ''}
              onChange={(name) => change({ project: name })}
              autoFocus={chain === null}
              openOnFocus={false}
            />
            <Autocomplete
              label="Spider"
              placeholder="* is any, price_* those that begin so"
              data={['*', ...(spiders ?? [])]}
              value={form.spider}
              onChange={(spider) => change({ spider })}
            />
          </div>
          <SegmentedControl
            aria-label="Ending"
            fullWidth
            value={form.on}
            onChange={(on) => change({ on: on as Chain['on'] })}
            data={Object.entries(ENDINGS).map(([value, { sentence }]) => ({ value, label: sentence }))}
          />
        </fieldset>
        <fieldset className={classes.part}>
          <legend>run</legend>
          <TemplateFields
            form={form.run}
            place="chain"
            onChange={(patch) => change({ run: { ...form.run, ...patch } })}
          />
        </fieldset>
        <TextInput
          label="Name"
          placeholder={'settings' in read ? read.settings.name : 'after what it does'}
          value={form.name}
          maxLength={200}
          onChange={(event) => change({ name: event.currentTarget.value })}
        />
        <FormFailure error={create.error ?? update.error} />
        <DialogFoot says={'missing' in read ? read.missing : ''}>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            variant="filled"
            loading={create.isPending || update.isPending}
            disabled={'missing' in read}
          >
            {chain === null ? 'Add' : 'Save'}
          </Button>
        </DialogFoot>
      </form>
    </Modal>
  )
}
