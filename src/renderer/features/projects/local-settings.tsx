import { Button, Flex, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Environment, Project } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { BuildLogDialog } from '../../ui/build-log-dialog.tsx'
import { StepProgress, EnvironmentStateText, pythonWords, StartModeText } from '../../ui/environment.tsx'
import { runLimitsInForce } from '../../ui/fields/run-limits.ts'
import { useMay } from '../../api/use-me.ts'
import { FieldRow, Panel } from '../../ui/panel.tsx'
import { RebuildButton } from '../../ui/rebuild-button.tsx'
import classes from './projects.module.css'
import { requirementCount } from './settings-form.ts'
import { texts } from '../../../shared/texts/ui/projects.ts'

interface LocalSettingsProps {
  project: Project
  isLogOpen: boolean
  onLog: (isOpen: boolean) => void
  onEdit: () => void
}

export function LocalSettings({ project, isLogOpen, onLog, onEdit }: LocalSettingsProps) {
  const { query } = useApi()
  const { may } = useMay('projects.change', { project: project.name })
  const nodes = useQuery(query.nodes.list.queryOptions()).data?.nodes
  const environments = useQuery(query.environments.list.queryOptions()).data?.environments
  if (nodes?.every(({ kind }) => kind !== 'local' && kind !== 'engine')) return null
  const environment = environments?.find(({ projects }) => projects.includes(project.name))
  const limits = runLimitsInForce(project.settings.limits)
  return (
    <Panel
      title={texts.localNode}
      aside={
        may && (
          <Button variant="subtle" size="compact-xs" onClick={onEdit}>
            {texts.pythonAndLimitsItem}
          </Button>
        )
      }
    >
      <FieldRow label={texts.python}>
        <PythonText project={project} environment={environment} />
      </FieldRow>
      {environment !== undefined && project.settings.python.kind !== 'default' && (
        <FieldRow label={texts.environment}>
          <EnvironmentText environment={environment} onLog={() => onLog(true)} />
        </FieldRow>
      )}
      {environment?.state === 'ready' && (
        <FieldRow label={texts.startMode}>
          <StartModeText start={environment.start} />
        </FieldRow>
      )}
      <FieldRow label={texts.limits}>
        {limits.length === 0 ? (
          <span className="dim">{texts.none}</span>
        ) : (
          <Flex component="ul" gap="2px 16px" wrap="wrap">
            {limits.map(({ name, label, value }) => (
              <li key={name}>
                <span className="dim">{label}</span> {value}
              </li>
            ))}
          </Flex>
        )}
      </FieldRow>
      {isLogOpen && environment !== undefined && <BuildLogDialog id={environment.id} onClose={() => onLog(false)} />}
    </Panel>
  )
}

function PythonText({ project, environment }: { project: Project; environment: Environment | undefined }) {
  const { python } = project.settings
  const words = environment === undefined ? '' : pythonWords(environment)
  if (python.kind === 'default')
    return (
      <>
        {words || texts.defaultWord} {words !== '' && <span className="dim">{texts.isDefaultPython}</span>}
      </>
    )
  return (
    <>
      {words}
      {words !== '' && <span className="dim"> · </span>}
      {python.kind === 'interpreter' ? (
        <span className="mono">{python.path}</span>
      ) : (
        <span className={words === '' ? undefined : 'dim'}>
          {texts.fromRequirements(requirementCount(python.text))}
        </span>
      )}
    </>
  )
}

function EnvironmentText({ environment, onLog }: { environment: Environment; onLog: () => void }) {
  return (
    <Stack gap={6} maw={460} pb={4}>
      <Flex component="span" align="center" gap={10} wrap="wrap">
        <EnvironmentStateText environment={environment} />
        {environment.hasLog && <Button onClick={onLog}>{texts.buildLog}</Button>}
        <RebuildButton environment={environment} />
      </Flex>
      <StepProgress progress={environment.progress} />
      {environment.problem !== null && (
        <p className={`${classes.failure} notice-bad`} role="alert">
          {environment.problem}
        </p>
      )}
    </Stack>
  )
}
