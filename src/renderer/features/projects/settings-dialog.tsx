import { Button, Checkbox, Modal, SegmentedControl, Textarea, TextInput } from '@mantine/core'
import { IconFile } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useCallback, useRef, useState } from 'react'
import type { Project } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useDropTaker } from '../../state/dropped-files.ts'
import { FormFailure } from '../../ui/fields/form-failure.tsx'
import { LimitsFields } from '../../ui/fields/limits-fields.tsx'
import { plural } from '../../ui/numbers.ts'
import { RetryFields } from '../../ui/fields/retry-fields.tsx'
import classes from './projects.module.css'
import { readSettings, requirementCount, type SettingsForm, startSettings } from './settings-form.ts'

const REQUIREMENTS_MAX_BYTES = 200_000

/** How a project's jobs are sent and tried again, how its eggs reach nodes, which Python runs it here, and what no run may go beyond. */
export function SettingsDialog({ project, onClose }: { project: Project; onClose: () => void }) {
  const { query } = useApi()
  const [form, setForm] = useState(() => startSettings(project.settings))
  const { mutate, isPending, error } = useMutation(query.projects.configure.mutationOptions({ onSuccess: onClose }))
  const change = (patch: Partial<SettingsForm>) => setForm((before) => ({ ...before, ...patch }))
  const read = readSettings(form)
  const isBuilt =
    'settings' in read &&
    read.settings.python.kind === 'requirements' &&
    JSON.stringify(read.settings.python) !== JSON.stringify(project.settings.python)
  const save = () => {
    if ('settings' in read) mutate({ project: project.name, settings: read.settings })
  }
  return (
    <Modal opened onClose={onClose} title={`Settings of ${project.name}`} size={640}>
      <form
        className={classes.settings}
        onSubmit={(event) => {
          event.preventDefault()
          save()
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) save()
        }}
      >
        <QueueSettings form={form} onChange={change} />
        <section className={classes.settingsPart} aria-labelledby="settings-python">
          <h3 id="settings-python">Python on the local node</h3>
          <SegmentedControl
            aria-labelledby="settings-python"
            className={classes.first}
            value={form.kind}
            onChange={(kind) => change({ kind: kind as SettingsForm['kind'] })}
            data={[
              { value: 'default', label: 'Default' },
              { value: 'interpreter', label: 'Interpreter' },
              { value: 'requirements', label: 'Requirements' }
            ]}
          />
          {form.kind === 'default' && (
            <p className="dim">The Python that the local node found or made, shared with other projects.</p>
          )}
          {form.kind === 'interpreter' && (
            <TextInput
              label="Path of the interpreter"
              description="On the machine where Scrapdeck runs. Scrapy and what the project imports must be installed in it."
              placeholder="/opt/venvs/shop/bin/python"
              value={form.path}
              onChange={(event) => change({ path: event.currentTarget.value })}
              classNames={{ input: 'mono' }}
              spellCheck={false}
              data-autofocus
            />
          )}
          {form.kind === 'requirements' && (
            <Requirements text={form.requirements} onChange={(requirements) => change({ requirements })} />
          )}
        </section>
        <section className={classes.settingsPart} aria-labelledby="settings-limits">
          <h3 id="settings-limits">Limits of each run</h3>
          <LimitsFields texts={form.limits} onChange={(limits) => change({ limits })} />
          <p className="dim">
            A run that goes beyond one is stopped, and the limit is its reason. A job can bring its own. On other nodes
            than the local one, the wall time alone is held.
          </p>
        </section>
        <FormFailure error={error} />
        <footer className={classes.dialogFoot}>
          <span className={classes.grow} role="status">
            {'missing' in read
              ? read.missing
              : isBuilt
                ? 'The environment is built at once; runs that started go on.'
                : 'Runs that started keep what they started with.'}
          </span>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="filled" loading={isPending} disabled={'missing' in read}>
            {isBuilt ? 'Save and build' : 'Save'}
          </Button>
        </footer>
      </form>
    </Modal>
  )
}

/** What holds for all jobs of the project, wherever they run. */
function QueueSettings({ form, onChange }: { form: SettingsForm; onChange: (patch: Partial<SettingsForm>) => void }) {
  return (
    <section className={classes.settingsPart} aria-labelledby="settings-queue">
      <h3 id="settings-queue">Jobs and eggs</h3>
      <div className={classes.settingsRow}>
        <TextInput
          label="Weight"
          inputMode="decimal"
          className={classes.weight}
          value={form.weight}
          onChange={(event) => onChange({ weight: event.currentTarget.value })}
        />
        <p className="dim">At equal priority a project of weight 2 gets twice the slots of one of weight 1.</p>
      </div>
      <Checkbox
        label="Paused: none of its jobs is sent; what runs goes on"
        checked={form.paused}
        onChange={(event) => onChange({ paused: event.currentTarget.checked })}
      />
      <Checkbox
        label="No overlap: one live run of a spider with the same arguments"
        checked={form.noOverlap}
        onChange={(event) => onChange({ noOverlap: event.currentTarget.checked })}
      />
      <div>
        <h4 id="settings-retry">Retry</h4>
        <RetryFields texts={form.retry} onChange={(retry) => onChange({ retry })} />
        <p className="dim">Retry and no overlap hold for jobs asked for from now on; a job can bring its own.</p>
      </div>
      <div>
        <h4 id="settings-distribution">Eggs reach nodes</h4>
        <SegmentedControl
          aria-labelledby="settings-distribution"
          className={classes.first}
          value={form.distribution}
          onChange={(distribution) => onChange({ distribution: distribution as SettingsForm['distribution'] })}
          data={[
            { value: 'on_demand', label: 'On demand' },
            { value: 'at_once', label: 'At once' }
          ]}
        />
        <p className="dim">
          {form.distribution === 'at_once'
            ? 'The latest version goes to every node that is up and takes jobs, as soon as it is here or the node is back.'
            : 'A node gets a version before the first job that needs it there.'}
        </p>
      </div>
    </section>
  )
}

/** Typed, pasted, chosen, or dropped anywhere in the window. */
function Requirements({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  const picker = useRef<HTMLInputElement>(null)
  const [problem, setProblem] = useState<string | null>(null)
  // The dialog's own setter adds to whatever stands there by then: the first `onChange` serves as well as the last.
  const [change] = useState(() => onChange)
  const take = useCallback(
    (files: readonly File[]) =>
      void readRequirements(files[0]).then((read) => {
        setProblem(read.problem)
        if (read.text !== null) change(read.text)
      }),
    [change]
  )
  useDropTaker('Drop the requirements', 'a requirements.txt', take)
  return (
    <>
      <Textarea
        label="Requirements"
        description="As in requirements.txt; Scrapy is added when it is not named. The same list is built once and shared."
        placeholder={'scrapy==2.13.3\nscrapy-playwright\nlxml>=5'}
        value={text}
        onChange={(event) => onChange(event.currentTarget.value)}
        error={problem}
        classNames={{ input: `mono ${classes.requirements}` }}
        spellCheck={false}
        data-autofocus
      />
      <div className={classes.requirementsFoot}>
        <Button leftSection={<IconFile size={14} />} onClick={() => picker.current?.click()}>
          Choose a file…
        </Button>
        <span className="dim">
          {requirementCount(text) > 0 ? plural(requirementCount(text), 'requirement') : 'or drop one into the window'}
        </span>
        <input
          ref={picker}
          type="file"
          hidden
          accept=".txt,.in,text/plain"
          aria-label="A file of requirements"
          onChange={(event) => {
            take([...(event.target.files ?? [])])
            event.target.value = ''
          }}
        />
      </div>
    </>
  )
}

async function readRequirements(file: File | undefined): Promise<{ text: string | null; problem: string | null }> {
  if (file === undefined) return { text: null, problem: null }
  if (file.size > REQUIREMENTS_MAX_BYTES)
    return { text: null, problem: `${file.name} is too large to be a list of requirements` }
  const text = await file.text()
  return text.includes('\0') ? { text: null, problem: `${file.name} is not a text file` } : { text, problem: null }
}
