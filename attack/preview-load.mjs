const B='http://127.0.0.1:18787',b=s=>'Basic '+Buffer.from(s).toString('base64')
const O=b('boss:owner-very-long-pass-words'),K=b('kim:zzplain13 river quartz lamp')
const heavy=[
 {timing:{zone:'America/Sao_Paulo',rules:Array.from({length:20},(_,i)=>({kind:'cron',expression:`${i} 0 29 2 ${i%7}`})),excludedCrons:Array.from({length:20},()=>'* * * * *')},count:1000},
 {timing:{zone:'Europe/Berlin',rules:Array.from({length:20},()=>({kind:'cron',expression:'* * * * *'})),excludedCrons:Array.from({length:20},(_,i)=>`* * * * ${i%7}`)},count:1000},
 {timing:{zone:'UTC',rules:[{kind:'interval',everySeconds:1,anchorMs:0}],excludedCrons:['* * * * *']},count:1000}
]
for(const [i,h] of heavy.entries()){
 const one=async()=>{const t=performance.now();const r=await fetch(B+'/api/v1/schedules/preview',{method:'POST',headers:{authorization:K,'content-type':'application/json'},body:JSON.stringify(h)});const x=await r.text();return [r.status,Math.round(performance.now()-t),x.slice(0,120)]}
 const p=one();await new Promise(r=>setTimeout(r,20));const t=performance.now();await(await fetch(B+'/api/v1/jobs?limit=1',{headers:{authorization:O}})).text();console.log(i,'owner waits',Math.round(performance.now()-t),'ms;',...(await p))
 const many=Array.from({length:20},one);await new Promise(r=>setTimeout(r,50));const t2=performance.now();await(await fetch(B+'/api/v1/jobs?limit=1',{headers:{authorization:O}})).text();console.log(i,'x20: owner waits',Math.round(performance.now()-t2),'ms');await Promise.all(many)
}
