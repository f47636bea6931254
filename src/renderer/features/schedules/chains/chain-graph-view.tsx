import type { ChainId } from '../../../../shared/contract/index.ts'
import { IconAlertTriangleFilled } from '@tabler/icons-react'
import {
  CHAIN_HEIGHT,
  CHAIN_WIDTH,
  type Graph,
  type GraphChain,
  type GraphSpider,
  SPIDER_HEIGHT,
  SPIDER_WIDTH
} from './chain-graph.ts'
import { ENDINGS } from './chain-words.tsx'
import classes from './chains.module.css'
import { texts } from '../../../../shared/texts/ui/schedules.ts'

const MARGIN = 16

export function ChainGraph({ graph, onOpen }: { graph: Graph; onOpen: (chainId: ChainId) => void }) {
  const spiders = new Map(graph.spiders.map((each) => [each.key, each]))
  const spiderOf = (key: string) => spiders.get(key) as GraphSpider
  const width = graph.width + 2 * MARGIN
  const height = graph.height + 2 * MARGIN
  return (
    <div className={classes.graph}>
      <div style={{ width, height, position: 'relative' }}>
        <svg width={width} height={height} aria-hidden>
          <g transform={`translate(${MARGIN} ${MARGIN})`}>
            {graph.matches.map(({ from, to }) => (
              <path
                key={`${from} ${to}`}
                className={classes.match}
                d={curve(rightOf(spiderOf(from)), leftOf(spiderOf(to)))}
              />
            ))}
            {graph.chains.map((each) => (
              <g
                key={each.chain.id}
                className={`tone-${ENDINGS[each.chain.on].tone} ${classes.line}`}
                data-off={!each.chain.enabled || undefined}
              >
                <path d={curve(rightOf(spiderOf(each.from)), chainLeft(each))} />
                {each.to.map((key) => (
                  <Arrow key={key} from={chainRight(each)} to={leftOf(spiderOf(key))} />
                ))}
              </g>
            ))}
          </g>
        </svg>
        {graph.spiders.map(({ key, project, spider, x, y }) => (
          <div
            key={key}
            className={classes.spider}
            data-pattern={key.includes('*') || undefined}
            style={{ left: x + MARGIN, top: y + MARGIN, width: SPIDER_WIDTH, height: SPIDER_HEIGHT }}
            title={key}
          >
            <strong className="ellipsis semibold">{spider === '*' ? texts.anySpider : spider}</strong>
            <span className="ellipsis">{project === '*' ? texts.ofAnyProject : project}</span>
          </div>
        ))}
        {graph.chains.map(({ chain, x, y }) => {
          const { word, tone, Icon } = ENDINGS[chain.on]
          return (
            <button
              key={chain.id}
              type="button"
              className={`${classes.chain} tone-${chain.enabled ? tone : 'off'} small`}
              data-off={!chain.enabled || undefined}
              style={{ left: x + MARGIN, top: y + MARGIN, width: CHAIN_WIDTH, height: CHAIN_HEIGHT }}
              onClick={() => onOpen(chain.id)}
              aria-label={texts.editChain(chain.name, !chain.enabled, chain.problem !== null)}
              title={`${chain.enabled ? chain.name : texts.chainIsOff(chain.name)}${chain.problem === null ? '' : `\n${chain.problem}`}`}
            >
              {chain.problem === null ? (
                <Icon size={13} stroke={2.2} aria-hidden />
              ) : (
                <IconAlertTriangleFilled size={13} className="tone-wait" aria-hidden />
              )}
              {word}
            </button>
          )
        })}
      </div>
    </div>
  )
}

type Point = readonly [number, number]
const rightOf = ({ x, y }: GraphSpider): Point => [x + SPIDER_WIDTH, y + SPIDER_HEIGHT / 2]
const leftOf = ({ x, y }: GraphSpider): Point => [x, y + SPIDER_HEIGHT / 2]
const chainLeft = ({ x, y }: GraphChain): Point => [x, y + CHAIN_HEIGHT / 2]
const chainRight = ({ x, y }: GraphChain): Point => [x + CHAIN_WIDTH, y + CHAIN_HEIGHT / 2]

/** The line leaves a box on the right and enters the next box on the left, even if the line leads back. */
function curve([fromX, fromY]: Point, [toX, toY]: Point): string {
  const bend = toX > fromX ? (toX - fromX) / 2 : 70
  return `M${fromX},${fromY} C${fromX + bend},${fromY} ${toX - bend},${toY} ${toX},${toY}`
}

function Arrow({ from, to: [x, y] }: { from: Point; to: Point }) {
  return (
    <>
      <path d={curve(from, [x - 5, y])} />
      <path className={classes.arrow} d={`M${x},${y} l-7,-4 v8 z`} />
    </>
  )
}
