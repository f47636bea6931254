import { Dialog } from '../../ui/dialog.tsx'
import { Button, Checkbox, Flex, Group, SegmentedControl, Textarea, TextInput } from '@mantine/core'
import { IconFile } from '@tabler/icons-react'
import { useCallback, useRef, useState } from 'react'
import type { Project } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { useDropTarget } from '../../state/dropped-files.ts'
import { type Fields, useFormOf } from '../../ui/fields/form-of-schema.ts'
import { FilePicker } from '../../ui/file-picker.tsx'
import { LimitsFields } from '../../ui/fields/limits-fields.tsx'
import { plural } from '../../ui/numbers.ts'
import { RetryFields } from '../../ui/fields/retry-fields.tsx'
import { FormFoot, SchemaForm } from '../../ui/fields/schema-form.tsx'
import { AFTER_FIRST_WAIT, FIRST_WAIT } from './cancel-waits.ts'
import classes from './projects.module.css'
import {
  changedSettings,
  requirementCount,
  SettingsForm,
  type SettingsOfDialog,
  type SettingsTexts,
  startSettings
} from './settings-form.ts'
import { optionsOf } from '../../ui/fields/choice-field.tsx'
import { Select } from '../../ui/fields/select.tsx'
import { CODE_INPUT } from '../../ui/fields/code-input.ts'

const REQUIREMENTS_MAX_BYTES = 200_000

/** How a project's jobs are sent and retried, how its eggs reach nodes, its local Python, and its run limits. */
export function SettingsDialog({ project, onClose }: { project: Project; onClose: () => void }) {
  const { client } = useApi()
  const [opened] = useState(() => startSettings(project.settings))
  const form = useFormOf<SettingsTexts, SettingsOfDialog>({
    schema: SettingsForm,
    start: () => opened,
    save: async (settings) => {
      await client.projects.changeSettings({ project: project.name, settings: changedSettings(opened, settings) })
      onClose()
    }
  })
  const python = form.within('python')
  const { kind } = python.values
  const asked = form.output?.python
  const isBuilt = asked?.kind === 'requirements' && JSON.stringify(asked) !== JSON.stringify(project.settings.python)
  return (
    <Dialog opened onClose={onClose} title={`Settings of ${project.name}`} size={640}>
      <SchemaForm form={form} className={classes.settings}>
        <VersionSetting fields={form} project={project} />
        <QueueSettings fields={form} />
        <Flex
          component="section"
          direction="column"
          gap={8}
          className={classes.settingsPart}
          aria-labelledby="settings-python"
        >
          <h3 id="settings-python">Python on local nodes</h3>
          <SegmentedControl
            {...python.input('kind')}
            aria-labelledby="settings-python"
            className={classes.first}
            data={optionsOf({ default: 'Default', interpreter: 'Interpreter', requirements: 'Requirements' })}
          />
          {kind === 'default' && (
            <p className="dim">The Python environment of each local node, shared with other projects.</p>
          )}
          {kind === 'interpreter' && (
            <TextInput
              {...python.input('path')}
              label="Interpreter path"
              description="On the machine where Scrapdeck runs. Scrapy and the imports of the project must be installed in it."
              placeholder="/opt/venvs/shop/bin/python"
              error={python.error('path') ?? form.error('python')}
              {...CODE_INPUT}
              data-autofocus
            />
          )}
          {kind === 'requirements' && <Requirements fields={python} refusal={form.error('python')} />}
        </Flex>
        <Flex
          component="section"
          direction="column"
          gap={8}
          className={classes.settingsPart}
          aria-labelledby="settings-stop"
        >
          <h3 id="settings-stop">Stop runs automatically</h3>
          <LimitsFields fields={form.within('limits')} only="everywhere" />
          <p className="dim">
            A run that exceeds a limit is stopped and fails, on every node. A job can override these limits. Scrapy logs
            its progress once a minute; bans are counted only in logs of level DEBUG.
          </p>
          <h4 id="settings-limits">On local nodes</h4>
          <LimitsFields fields={form.within('limits')} only="local" />
          <p className="dim">Only local nodes can enforce these.</p>
        </Flex>
        <OutcomeSettings fields={form} />
        <Flex
          component="section"
          direction="column"
          gap={8}
          className={classes.settingsPart}
          aria-labelledby="settings-items"
        >
          <h3 id="settings-items">Items</h3>
          <Checkbox
            {...form.input('keepItems', 'checkbox')}
            label="Keep items files"
            description="When a run has ended, its items file is copied to the archive before its node can delete it. Retention applies to the copy. A job ends once its items are copied. At most 4 GB are kept per run."
          />
        </Flex>
        <FormFoot
          form={form}
          submit={isBuilt ? 'Save and build' : 'Save settings'}
          says={
            isBuilt
              ? 'The environment is built now. Running jobs keep their settings.'
              : 'Running jobs keep their settings.'
          }
          onCancel={onClose}
        />
      </SchemaForm>
    </Dialog>
  )
}

/** When a run that closed well still counts as failed, and when it is unusual. */
function OutcomeSettings({ fields }: { fields: Fields<SettingsTexts> }) {
  const outcome = fields.within('outcome')
  const field = (name: 'maxErrors' | 'minItems' | 'minPages', label: string) => (
    <TextInput
      {...outcome.input(name)}
      label={label}
      placeholder="no rule"
      inputMode="numeric"
      classNames={{ wrapper: classes.weight }}
    />
  )
  return (
    <Flex
      component="section"
      direction="column"
      gap={8}
      className={classes.settingsPart}
      aria-labelledby="settings-outcome"
    >
      <h3 id="settings-outcome">When a run counts as failed</h3>
      <Group align="stretch" gap="8px 20px">
        {field('maxErrors', 'More errors than')}
        {field('minItems', 'Fewer items than')}
        {field('minPages', 'Fewer pages than')}
      </Group>
      <Checkbox
        {...outcome.input('requireResponse', 'checkbox')}
        label="No response at all"
        description="Every request failed before any response (DNS, connection refused, TLS), and nothing was scraped."
      />
      <TextInput
        {...outcome.input('finishReasons')}
        label="Successful finish reasons"
        description="Separate reasons with commas. A run with any other finish_reason fails. Empty: finished, and the limits CLOSESPIDER_ITEMCOUNT, _PAGECOUNT and _TIMEOUT."
        placeholder="finished, catalogue_done"
        {...CODE_INPUT}
      />
      <p className="dim">
        The rules apply when a run ends, including runs that are already running. A figure that is missing from the log
        breaks no rule.
      </p>
      <h4>Expectations</h4>
      <Checkbox
        {...fields.input('expectations', 'checkbox')}
        label="Compare with earlier runs"
        description="A run with far fewer items or pages, far more errors or a far longer runtime than the last 30 runs of its spider is reported as a problem, even if it succeeded."
      />
    </Flex>
  )
}

/** The pin; the menu of a version changes it, too. */
function VersionSetting({ fields, project }: { fields: Fields<SettingsTexts>; project: Project }) {
  const { latestVersion, versions, settings } = project
  const names = [...versions.map(({ version }) => version), ...(settings.pinnedVersion ? [settings.pinnedVersion] : [])]
  return (
    <Flex
      component="section"
      direction="column"
      gap={8}
      className={classes.settingsPart}
      aria-labelledby="settings-version"
    >
      <h3 id="settings-version">Version</h3>
      <Select
        {...fields.input('pinnedVersion')}
        label="Active version"
        description="Used by jobs that name no version. A newer upload does not change a pinned version."
        allowDeselect={false}
        data={[
          { value: '', label: latestVersion === null ? 'latest' : `latest (${latestVersion})` },
          ...[...new Set(names)].map((name) => ({ value: name, label: `pinned (${name})` }))
        ]}
        classNames={{ wrapper: classes.activeVersion }}
      />
    </Flex>
  )
}

/** What applies to all jobs of the project, wherever they run. */
function QueueSettings({ fields }: { fields: Fields<SettingsTexts> }) {
  // Another weight takes slots from other projects.
  const weighs = useMay('projects.change', 'everywhere')
  return (
    <Flex
      component="section"
      direction="column"
      gap={8}
      className={classes.settingsPart}
      aria-labelledby="settings-queue"
    >
      <h3 id="settings-queue">Queue and deployment</h3>
      <TextInput
        {...fields.input('weight')}
        label="Weight"
        description={
          weighs.why ?? 'At equal priority, a project with weight 2 gets twice the slots of one with weight 1.'
        }
        disabled={!weighs.may}
        inputMode="decimal"
        classNames={{ wrapper: classes.weight }}
      />
      <Checkbox
        {...fields.input('paused', 'checkbox')}
        label="Paused"
        description="Queued jobs wait until you resume. Running jobs continue."
      />
      <Checkbox
        {...fields.input('noOverlap', 'checkbox')}
        label="No overlap"
        description="Only one live job per spider with the same arguments."
      />
      <TextInput
        {...fields.input('cancelWaitSeconds')}
        label="Time to finish after a cancel"
        description={`How long a running spider may take after the first INT; ${AFTER_FIRST_WAIT}. Empty: ${FIRST_WAIT}, unless the service is configured otherwise.`}
        placeholder={FIRST_WAIT}
        classNames={{ wrapper: classes.weight }}
      />
      <div>
        <h4 id="settings-retry">Retry</h4>
        <RetryFields fields={fields.within('retry')} />
        <p className="dim">Retry and overlap settings apply to new jobs. A job can override them.</p>
      </div>
      <div>
        <h4 id="settings-distribution">Deployment to nodes</h4>
        <SegmentedControl
          {...fields.input('distribution')}
          aria-labelledby="settings-distribution"
          className={classes.first}
          data={optionsOf({ on_demand: 'On demand', at_once: 'Immediately' })}
        />
        <p className="dim">
          {fields.values.distribution === 'at_once'
            ? 'Every active node gets the active version as soon as it is uploaded or the node is back.'
            : 'A node gets a version before its first job that needs it.'}
        </p>
      </div>
    </Flex>
  )
}

/** Typed, pasted, chosen, or dropped anywhere in the window. */
function Requirements({ fields, refusal }: { fields: Fields<SettingsTexts['python']>; refusal: string | undefined }) {
  const { text } = fields.values
  const picker = useRef<HTMLInputElement>(null)
  const [problem, setProblem] = useState<string | null>(null)
  // `change` merges into the current form, so the first instance works as well as the latest.
  const [change] = useState(() => fields.change)
  const readFiles = useCallback(
    (files: readonly File[]) =>
      void readRequirements(files[0]).then((read) => {
        setProblem(read.problem)
        if (read.text !== null) change({ text: read.text })
      }),
    [change]
  )
  useDropTarget('Drop requirements', 'a requirements.txt', readFiles)
  return (
    <>
      <Textarea
        {...fields.input('text')}
        label="Requirements"
        description="In the format of requirements.txt. Scrapy is added if it is missing. Projects with the same list share one environment."
        placeholder={'scrapy==2.13.3\nscrapy-playwright\nlxml>=5'}
        error={problem ?? fields.error('text') ?? refusal}
        classNames={{ input: `mono ${classes.requirements}` }}
        spellCheck={false}
        data-autofocus
      />
      <Group gap={10} wrap="nowrap">
        <Button leftSection={<IconFile size={14} />} onClick={() => picker.current?.click()}>
          Choose file…
        </Button>
        <span className="dim">
          {requirementCount(text) > 0
            ? plural(requirementCount(text), 'requirement')
            : 'or drop a file into the window'}
        </span>
        <FilePicker label="Requirements file" accept=".txt,.in,text/plain" onFiles={readFiles} inputRef={picker} />
      </Group>
    </>
  )
}

async function readRequirements(file: File | undefined): Promise<{ text: string | null; problem: string | null }> {
  if (file === undefined) return { text: null, problem: null }
  if (file.size > REQUIREMENTS_MAX_BYTES)
    return { text: null, problem: `${file.name} is too large for a requirements file` }
  const text = await file.text()
  return text.includes('\0') ? { text: null, problem: `${file.name} is not a text file` } : { text, problem: null }
}
