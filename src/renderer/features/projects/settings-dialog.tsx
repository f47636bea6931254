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
import { RunLimitsFields } from '../../ui/fields/run-limits-fields.tsx'
import { RetryFields } from '../../ui/fields/retry-fields.tsx'
import { FormFoot, SchemaForm } from '../../ui/fields/schema-form.tsx'
import { FIRST_WAIT, SECOND_WAIT } from './cancel-waits.ts'
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
import { texts } from '../../../shared/texts/ui/projects.ts'

const REQUIREMENTS_MAX_BYTES = 200_000

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
    <Dialog opened onClose={onClose} title={texts.settingsOf(project.name)} size={640}>
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
          <h3 id="settings-python">{texts.pythonOnLocalNodes}</h3>
          <SegmentedControl
            {...python.input('kind')}
            aria-labelledby="settings-python"
            className={classes.first}
            data={optionsOf({
              default: texts.defaultPython,
              interpreter: texts.interpreterEnvironment,
              requirements: texts.requirements
            })}
          />
          {kind === 'default' && <p className="dim">{texts.defaultPythonHint}</p>}
          {kind === 'interpreter' && (
            <TextInput
              {...python.input('path')}
              label={texts.interpreterPath}
              description={texts.interpreterPathHint}
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
          <h3 id="settings-stop">{texts.stopRunsAutomatically}</h3>
          <RunLimitsFields fields={form.within('limits')} only="everywhere" />
          <p className="dim">{texts.limitsHint}</p>
          <h4 id="settings-limits">{texts.onLocalNodes}</h4>
          <RunLimitsFields fields={form.within('limits')} only="local" />
          <p className="dim">{texts.localLimitsHint}</p>
        </Flex>
        <OutcomeSettings fields={form} />
        <Flex
          component="section"
          direction="column"
          gap={8}
          className={classes.settingsPart}
          aria-labelledby="settings-items"
        >
          <h3 id="settings-items">{texts.items}</h3>
          <Checkbox
            {...form.input('keepItems', 'checkbox')}
            label={texts.keepItemsFiles}
            description={texts.keepItemsHint}
          />
        </Flex>
        <FormFoot
          form={form}
          submit={isBuilt ? texts.saveAndBuild : texts.saveSettings}
          says={isBuilt ? texts.buildHint : texts.saveHint}
          onCancel={onClose}
        />
      </SchemaForm>
    </Dialog>
  )
}

function OutcomeSettings({ fields }: { fields: Fields<SettingsTexts> }) {
  const outcome = fields.within('outcome')
  const field = (name: 'maxErrors' | 'minItems' | 'minPages', label: string) => (
    <TextInput
      {...outcome.input(name)}
      label={label}
      placeholder={texts.noRule}
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
      <h3 id="settings-outcome">{texts.failedRunsTitle}</h3>
      <Group align="stretch" gap="8px 20px">
        {field('maxErrors', texts.moreErrorsThan)}
        {field('minItems', texts.fewerItemsThan)}
        {field('minPages', texts.fewerPagesThan)}
      </Group>
      <Checkbox
        {...outcome.input('requireResponse', 'checkbox')}
        label={texts.noResponseAtAll}
        description={texts.noResponseHint}
      />
      <TextInput
        {...outcome.input('finishReasons')}
        label={texts.successfulFinishReasons}
        description={texts.finishReasonsHint}
        placeholder={texts.finishReasonsExample}
        {...CODE_INPUT}
      />
      <p className="dim">{texts.outcomeRulesHint}</p>
      <h4>{texts.expectations}</h4>
      <Checkbox
        {...fields.input('expectations', 'checkbox')}
        label={texts.compareRuns}
        description={texts.compareRunsHint}
      />
    </Flex>
  )
}

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
      <h3 id="settings-version">{texts.version}</h3>
      <Select
        {...fields.input('pinnedVersion')}
        label={texts.activeVersionTitle}
        description={texts.activeVersionHint}
        allowDeselect={false}
        data={[
          { value: '', label: latestVersion === null ? texts.latest : texts.latestOption(latestVersion) },
          ...[...new Set(names)].map((name) => ({ value: name, label: texts.pinnedOption(name) }))
        ]}
        classNames={{ wrapper: classes.activeVersion }}
      />
    </Flex>
  )
}

function QueueSettings({ fields }: { fields: Fields<SettingsTexts> }) {
  // A higher weight takes slots from other projects.
  const weighs = useMay('projects.change', 'everywhere')
  return (
    <Flex
      component="section"
      direction="column"
      gap={8}
      className={classes.settingsPart}
      aria-labelledby="settings-queue"
    >
      <h3 id="settings-queue">{texts.queueAndDeployment}</h3>
      <TextInput
        {...fields.input('weight')}
        label={texts.weight}
        description={weighs.why ?? texts.weightHint}
        disabled={!weighs.may}
        inputMode="decimal"
        classNames={{ wrapper: classes.weight }}
      />
      <Checkbox {...fields.input('paused', 'checkbox')} label={texts.paused} description={texts.pausedHint} />
      <Checkbox {...fields.input('noOverlap', 'checkbox')} label={texts.noOverlap} description={texts.noOverlapHint} />
      <TextInput
        {...fields.input('cancelWaitSeconds')}
        label={texts.cancelWait}
        description={texts.cancelWaitHint(FIRST_WAIT, SECOND_WAIT)}
        placeholder={FIRST_WAIT}
        classNames={{ wrapper: classes.weight }}
      />
      <div>
        <h4 id="settings-retry">{texts.retry}</h4>
        <RetryFields fields={fields.within('retry')} />
        <p className="dim">{texts.retryHint}</p>
      </div>
      <div>
        <h4 id="settings-distribution">{texts.deploymentToNodes}</h4>
        <SegmentedControl
          {...fields.input('distribution')}
          aria-labelledby="settings-distribution"
          className={classes.first}
          data={optionsOf({ on_demand: texts.onDemand, at_once: texts.immediately })}
        />
        <p className="dim">{fields.values.distribution === 'at_once' ? texts.immediatelyHint : texts.onDemandHint}</p>
      </div>
    </Flex>
  )
}

function Requirements({ fields, refusal }: { fields: Fields<SettingsTexts['python']>; refusal: string | undefined }) {
  const { text } = fields.values
  const picker = useRef<HTMLInputElement>(null)
  const [problem, setProblem] = useState<string | null>(null)
  // `change` merges into the current form, so the first `change` function works as well as the latest.
  const [change] = useState(() => fields.change)
  const readFiles = useCallback(
    (files: readonly File[]) =>
      void readRequirements(files[0]).then((read) => {
        setProblem(read.problem)
        if (read.text !== null) change({ text: read.text })
      }),
    [change]
  )
  useDropTarget(texts.dropRequirements, texts.requirementsFileDrop, readFiles)
  return (
    <>
      <Textarea
        {...fields.input('text')}
        label={texts.requirements}
        description={texts.requirementsHint}
        placeholder={texts.requirementsExample}
        error={problem ?? fields.error('text') ?? refusal}
        classNames={{ input: ['mono', classes.requirements].join(' ') }}
        spellCheck={false}
        data-autofocus
      />
      <Group gap={10} wrap="nowrap">
        <Button leftSection={<IconFile size={14} />} onClick={() => picker.current?.click()}>
          {texts.chooseFile}
        </Button>
        <span className="dim">
          {requirementCount(text) > 0 ? texts.requirementCount(requirementCount(text)) : texts.orDropFile}
        </span>
        <FilePicker label={texts.requirementsFile} accept=".txt,.in,text/plain" onFiles={readFiles} inputRef={picker} />
      </Group>
    </>
  )
}

async function readRequirements(file: File | undefined): Promise<{ text: string | null; problem: string | null }> {
  if (file === undefined) return { text: null, problem: null }
  if (file.size > REQUIREMENTS_MAX_BYTES) return { text: null, problem: texts.requirementsTooLarge(file.name) }
  const text = await file.text()
  return text.includes('\0') ? { text: null, problem: texts.notATextFile(file.name) } : { text, problem: null }
}
